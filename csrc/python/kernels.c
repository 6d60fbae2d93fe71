/* kernels.c: kernels as Python sees them: descriptions, capsules, names, and the choice of the active one. */
#define _GNU_SOURCE /* dladdr */
#include "python/state.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "core/registry.h"

#define CAPSULE_NAME "fastcksum.kernel"

static const char *const role_names[] = {
#define ROLE_NAME(id, text) [CKSUM_##id] = (text),
    CKSUM_ROLES(ROLE_NAME)
#undef ROLE_NAME
};

PyObject *core_feature_names(uint32_t features)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } known[] = {
#define FEATURE(id, bit, text) {CKSUM_CPU_##id, text},
        CKSUM_CPU_FEATURES(FEATURE)
#undef FEATURE
    };
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names != NULL && i < sizeof known / sizeof known[0]; i++) {
        if (features & known[i].bit) {
            PyObject *name = PyUnicode_FromString(known[i].name);
            if (name == NULL || PyList_Append(names, name) < 0) {
                Py_CLEAR(names);
            }
            Py_XDECREF(name);
        }
    }
    if (names == NULL) {
        return NULL;
    }
    PyObject *tuple = PyList_AsTuple(names);
    Py_DECREF(names);
    return tuple;
}

/* The names of kernels that may be asked for a sum here, "a, b, c", as a new str. NULL with an exception set. */
static PyObject *usable_names(void)
{
    PyObject *text = PyUnicode_FromString("");
    const struct cksum_kernel *kernel;
    for (size_t i = 0; text != NULL && (kernel = cksum_registry_at(i)) != NULL; i++) {
        if (kernel->role != CKSUM_YARDSTICK && cksum_runs_here(kernel)) {
            PyObject *longer =
                PyUnicode_FromFormat("%U%s%s", text, PyUnicode_GET_LENGTH(text) ? ", " : "", kernel->name);
            Py_SETREF(text, longer);
        }
    }
    return text;
}

int core_check_runs(const struct cksum_kernel *kernel, const char *asked_by)
{
    if (cksum_runs_here(kernel)) {
        return 0;
    }
    PyObject *needs = core_feature_names(kernel->needs), *usable = usable_names();
    if (needs != NULL && usable != NULL) {
        PyErr_Format(PyExc_ValueError, "%s '%s' can't run here: it needs %S; those that can: %U", asked_by,
                     kernel->name, needs, usable);
    }
    Py_XDECREF(needs);
    Py_XDECREF(usable);
    return -1;
}

int core_check_sums(const struct cksum_kernel *kernel, const char *asked_by)
{
    if (kernel->role != CKSUM_YARDSTICK) {
        return core_check_runs(kernel, asked_by);
    }
    PyObject *usable = usable_names();
    if (usable != NULL) {
        PyErr_Format(PyExc_ValueError, "%s '%s' is a yardstick of the bench and computes no sum; those that do: %U",
                     asked_by, kernel->name, usable);
    }
    Py_XDECREF(usable);
    return -1;
}

int core_add_kernels(PyObject *module)
{
    struct core_state *state = PyModule_GetState(module);
    const struct cksum_kernel *kernel;
    size_t n = 0;
    while (cksum_registry_at(n) != NULL) {
        n++;
    }
    state->usable = PyMem_New(struct core_named_kernel, n);
    if (state->usable == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; (kernel = cksum_registry_at(i)) != NULL; i++) {
        if (kernel->role != CKSUM_YARDSTICK && cksum_runs_here(kernel)) {
            PyObject *name = PyUnicode_InternFromString(kernel->name);
            if (name == NULL) {
                return -1;
            }
            state->usable[state->n_usable++] = (struct core_named_kernel){.name = name, .kernel = kernel};
        }
    }
    return 0;
}

void core_clear_kernels(struct core_state *state)
{
    for (size_t i = 0; i < state->n_usable; i++) {
        Py_DECREF(state->usable[i].name);
    }
    state->n_usable = 0;
    PyMem_Free(state->usable);
    state->usable = NULL;
}

int core_check_length(const struct cksum_kernel *kernel, size_t length)
{
    if (CKSUM_LIKELY(length >= kernel->min_len)) {
        return 0;
    }
    PyErr_Format(PyExc_ValueError,
                 "kernel '%s' reads at least %zu bytes whatever its length says, so it may sum no fewer, not %zu: name "
                 "another kernel for these",
                 kernel->name, kernel->min_len, length);
    return -1;
}

/* The built-in kernel of this name. NULL with ValueError set. */
static const struct cksum_kernel *find_by_name(const char *name, const char *asked_by)
{
    const struct cksum_kernel *kernel = cksum_registry_find(name);
    if (kernel == NULL) {
        PyObject *usable = usable_names();
        if (usable != NULL) {
            PyErr_Format(PyExc_ValueError, "%s '%.200s' is unknown; those that run here: %U", asked_by, name, usable);
        }
        Py_XDECREF(usable);
    }
    return kernel;
}

const struct cksum_kernel *core_get_kernel(PyObject *module, PyObject *object, PyObject **keep)
{
    *keep = NULL;
    if (PyUnicode_Check(object)) {
        const char *name = PyUnicode_AsUTF8(object);
        return name == NULL ? NULL : find_by_name(name, "kernel");
    }
    const struct core_state *state = PyModule_GetState(module);
    PyObject *capsule =
        PyCapsule_CheckExact(object) ? Py_NewRef(object) : PyObject_GetAttr(object, state->name_capsule);
    if (capsule == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return NULL;
    }
    if (capsule == NULL || !PyCapsule_IsValid(capsule, CAPSULE_NAME)) {
        Py_XDECREF(capsule);
        PyErr_Format(PyExc_TypeError, "kernel must be a name or a Kernel, not '%.200s'", Py_TYPE(object)->tp_name);
        return NULL;
    }
    *keep = capsule;
    return PyCapsule_GetPointer(capsule, CAPSULE_NAME);
}

const struct cksum_kernel *core_active_kernel(PyObject *module)
{
    struct core_state *state = PyModule_GetState(module);
    const struct cksum_kernel *kernel = atomic_load_explicit(&state->active, memory_order_relaxed);
    if (CKSUM_LIKELY(kernel != NULL)) {
        return kernel;
    }
    const char *name = getenv("FASTCKSUM_KERNEL");
    if (name == NULL || *name == '\0') {
        kernel = cksum_registry_best();
    } else {
        kernel = find_by_name(name, "FASTCKSUM_KERNEL");
        if (kernel == NULL || core_check_sums(kernel, "FASTCKSUM_KERNEL") < 0) {
            return NULL;
        }
    }
    atomic_store_explicit(&state->active, kernel, memory_order_relaxed);
    return kernel;
}

const struct cksum_kernel *core_choose_kernel(PyObject *module, PyObject *object, PyObject **keep)
{
    *keep = NULL;
    if (object == NULL || object == Py_None) {
        return core_active_kernel(module);
    }
    const struct core_state *state = PyModule_GetState(module);
    for (size_t i = 0; i < state->n_usable; i++) {
        if (object == state->usable[i].name) { /* interned, as most names in a program's text are */
            return state->usable[i].kernel;
        }
    }
    const struct cksum_kernel *kernel = core_get_kernel(module, object, keep);
    return kernel != NULL && core_check_sums(kernel, "kernel") < 0 ? NULL : kernel;
}

PyObject *core_active_kernel_name(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    const struct cksum_kernel *kernel = core_active_kernel(module);
    return kernel == NULL ? NULL : PyUnicode_FromString(kernel->name);
}

/* The machine code of a kernel as bytes, or None where it isn't known. NULL with an exception set. */
static PyObject *code_of(const struct cksum_kernel *kernel)
{
    if (kernel->code == NULL) {
        Py_RETURN_NONE;
    }
    return PyBytes_FromStringAndSize((const char *)kernel->code, kernel->code_end - kernel->code);
}

/* The descriptor as a dict, with this capsule in it. NULL with an exception set. */
static PyObject *description(const struct cksum_kernel *kernel, PyObject *capsule)
{
    PyObject *needs = core_feature_names(kernel->needs), *code = code_of(kernel), *result = NULL;
    if (needs != NULL && code != NULL) {
        result = Py_BuildValue("{ss ss ss sO sK sK sI sz sO sO sO}", "name", kernel->name, "summary", kernel->summary,
                               "role", role_names[kernel->role], "needs", needs, "min_len",
                               (unsigned long long)kernel->min_len, "max_len", (unsigned long long)kernel->max_len,
                               "vector_bits", kernel->vector_bits, "origin", kernel->origin, "runs_here",
                               cksum_runs_here(kernel) ? Py_True : Py_False, "code", code, "capsule", capsule);
    }
    Py_XDECREF(needs);
    Py_XDECREF(code);
    return result;
}

PyObject *core_describe(PyObject *module, PyObject *object)
{
    PyObject *keep;
    const struct cksum_kernel *kernel = core_get_kernel(module, object, &keep);
    if (kernel == NULL) {
        return NULL;
    }
    if (keep == NULL) {
        keep = PyCapsule_New((void *)kernel, CAPSULE_NAME, NULL);
    }
    PyObject *result = keep == NULL ? NULL : description(kernel, keep);
    Py_XDECREF(keep);
    return result;
}

PyObject *core_kernel_table(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *table = PyList_New(0);
    const struct cksum_kernel *kernel;
    for (size_t i = 0; table != NULL && (kernel = cksum_registry_at(i)) != NULL; i++) {
        PyObject *capsule = PyCapsule_New((void *)kernel, CAPSULE_NAME, NULL);
        PyObject *row = capsule == NULL ? NULL : description(kernel, capsule);
        if (row == NULL || PyList_Append(table, row) < 0) {
            Py_CLEAR(table);
        }
        Py_XDECREF(row);
        Py_XDECREF(capsule);
    }
    return table;
}

static void close_library(PyObject *capsule)
{
    dlclose(PyCapsule_GetContext(capsule));
}

PyObject *core_load_kernel(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *path;
    const char *symbol;
    if (!PyArg_ParseTuple(args, "O&s:load_kernel", PyUnicode_FSConverter, &path, &symbol)) {
        return NULL;
    }
    PyObject *capsule = NULL, *name = PyUnicode_FromFormat("cksum_kernel_%s", symbol);
    void *library = dlopen(PyBytes_AS_STRING(path), RTLD_NOW | RTLD_LOCAL);
    if (name == NULL || library == NULL) {
        goto failed;
    }
    const struct cksum_kernel *const *kernel = dlsym(library, PyUnicode_AsUTF8(name));
    if (kernel == NULL || *kernel == NULL) {
        PyErr_Format(PyExc_ImportError, "%s: holds no kernel %U for this machine", PyBytes_AS_STRING(path), name);
        goto failed;
    }
    capsule = PyCapsule_New((void *)*kernel, CAPSULE_NAME, close_library);
    if (capsule == NULL || PyCapsule_SetContext(capsule, library) < 0) {
        goto failed;
    }
    Py_DECREF(path);
    Py_DECREF(name);
    return capsule;

failed:
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_ImportError, "%s", dlerror());
    }
    if (library != NULL) {
        dlclose(library);
    }
    Py_DECREF(path);
    Py_XDECREF(name);
    return NULL;
}

PyObject *core_partial(PyObject *module, PyObject *args)
{
    PyObject *object, *buf, *start, *keep, *result = NULL;
    if (!PyArg_ParseTuple(args, "OOO:partial", &object, &buf, &start)) {
        return NULL;
    }
    Py_buffer view = {0};
    size_t sum;
    const struct cksum_kernel *kernel = core_get_kernel(module, object, &keep);
    if (kernel == NULL || core_check_runs(kernel, "kernel") < 0 || core_get_buffer(buf, &view) < 0) {
        goto done;
    }
    if (core_check_length(kernel, (size_t)view.len) == 0 &&
        core_get_size(start, "sum", UINT32_MAX, "an unreduced 32-bit sum", &sum) == 0) {
        uint32_t value;
        Py_BEGIN_ALLOW_THREADS;
        value = kernel->fn(view.buf, (size_t)view.len, (uint32_t)sum);
        Py_END_ALLOW_THREADS;
        result = PyLong_FromUnsignedLong(value);
    }
    PyBuffer_Release(&view);
done:
    Py_XDECREF(keep);
    return result;
}

PyObject *core_shared_object(PyObject *module, PyObject *object)
{
    PyObject *keep, *result = NULL;
    Dl_info where;
    const struct cksum_kernel *kernel = core_get_kernel(module, object, &keep);
    if (kernel != NULL) {
        const int found = dladdr(kernel, &where);
        result = found ? PyUnicode_DecodeFSDefault(where.dli_fname) : Py_NewRef(Py_None);
    }
    Py_XDECREF(keep);
    return result;
}
