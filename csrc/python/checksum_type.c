/* checksum_type.c: the type Checksum: the checksum of data that comes in pieces. */
#include "python/fast.h"

#include <string.h>

#include "core/update.h"

/*
 * The raw sum so far, and ODD where so far an odd number of bytes has come. One atomic word: threads that update one
 * object at the same time, with the GIL released or without one, each add their piece, in some order.
 */
struct checksum {
    PyObject ob_base;
    _Atomic uint32_t state;
};

#define ODD 0x10000u

static uint16_t raw_of(PyObject *self)
{
    return (uint16_t)atomic_load_explicit(&((struct checksum *)self)->state, memory_order_relaxed);
}

static uint16_t value_of(PyObject *self)
{
    return cksum_host_order16((uint16_t)~raw_of(self));
}

/* Adds a piece whose raw sum is known. */
static void add_piece(struct checksum *checksum, uint16_t sum, size_t length)
{
    uint32_t before = atomic_load_explicit(&checksum->state, memory_order_relaxed), after;
    do {
        const bool odd = (before & ODD) != 0;
        after = cksum_combined((uint16_t)before, sum, odd) | (odd != (length & 1) ? ODD : 0);
    } while (!atomic_compare_exchange_weak_explicit(&checksum->state, &before, after, memory_order_relaxed,
                                                    memory_order_relaxed));
}

/* Sums a piece and adds it. 0, or -1 with an exception set and the object as it was. */
static int update(PyObject *self, PyObject *data)
{
    struct checksum *checksum = (struct checksum *)self;
    PyObject *module = PyType_GetModule(Py_TYPE(self));
    const struct cksum_kernel *kernel = module == NULL ? NULL : core_quick_kernel(module);
    struct core_bytes piece;
    if (kernel == NULL || core_take_bytes(data, &piece) < 0) {
        return -1;
    }
    add_piece(checksum, core_sum_bytes(kernel, piece.buf, piece.size, 0), piece.size);
    core_release_bytes(&piece);
    return 0;
}

static PyObject *checksum_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "initial", NULL};
    PyObject *data = NULL, *initial_object = NULL;
    size_t initial = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$O:Checksum", names, &data, &initial_object) ||
        (initial_object != NULL &&
         core_get_size(initial_object, "initial", 0xffff, "a raw 16-bit sum", &initial) < 0)) {
        return NULL;
    }
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL) {
        atomic_init(&((struct checksum *)self)->state, (uint32_t)initial);
        if (data != NULL && update(self, data) < 0) {
            Py_CLEAR(self);
        }
    }
    return self;
}

static void checksum_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *checksum_update(PyObject *self, PyObject *data)
{
    return update(self, data) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *checksum_raw(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromLong(raw_of(self));
}

static PyObject *checksum_value(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromLong(value_of(self));
}

static PyObject *checksum_digest(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const uint16_t value = value_of(self);
    const char bytes[] = {(char)(value >> 8), (char)(value & 0xff)};
    return PyBytes_FromStringAndSize(bytes, sizeof bytes);
}

static PyObject *checksum_hexdigest(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return PyUnicode_FromFormat("%04x", (unsigned)value_of(self));
}

static PyObject *checksum_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<fastcksum.Checksum 0x%04x>", (unsigned)value_of(self));
}

static PyObject *checksum_copy(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const uint32_t state = atomic_load_explicit(&((struct checksum *)self)->state, memory_order_relaxed);
    PyObject *copy = Py_TYPE(self)->tp_alloc(Py_TYPE(self), 0);
    if (copy != NULL) {
        atomic_init(&((struct checksum *)copy)->state, state);
    }
    return copy;
}

/* (Checksum, (data,)), for copy and pickle: the shortest data that leads to this state. */
static PyObject *checksum_reduce(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const uint32_t state = atomic_load_explicit(&((struct checksum *)self)->state, memory_order_relaxed);
    const uint16_t raw = (uint16_t)state;
    char data[3] = {0};
    memcpy(data, &raw, sizeof raw);
    return Py_BuildValue("O(y#)", Py_TYPE(self), data, (Py_ssize_t)((state & ODD) != 0 ? 3 : 2));
}

static PyMethodDef checksum_methods[] = {
    {"update", checksum_update, METH_O,
     "update($self, data, /)\n--\n\n"
     "Adds the next piece. TypeError and BufferError as for raw_cksum; the sum then is as it was."},
    {"digest", checksum_digest, METH_NOARGS,
     "digest($self, /)\n--\n\nThe checksum as the two bytes that go into the field."},
    {"hexdigest", checksum_hexdigest, METH_NOARGS,
     "hexdigest($self, /)\n--\n\nThe checksum as four hexadecimal digits."},
    {"copy", checksum_copy, METH_NOARGS,
     "copy($self, /)\n--\n\nAnother object that stands where this one does; each then goes its own way."},
    {"__reduce__", checksum_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef checksum_properties[] = {
    {"raw", checksum_raw, NULL, "The raw sum of all pieces: what raw_cksum returns for them laid end to end.", NULL},
    {"value", checksum_value, NULL, "The checksum of all pieces: what checksum returns for them laid end to end.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(checksum_type_doc,
             "Checksum(data=b'', /, *, initial=0)\n--\n\n"
             "The Internet checksum of data that comes in pieces.\n\n"
             "It has the shape of a hashlib object. The pieces may be split anywhere, at odd places too, and may be\n"
             "empty. Threads may update one object: each piece counts, in the order in which they came.\n\n"
             ">>> stream = Checksum()\n"
             ">>> for piece in (b'\\x00\\x01\\xf2', b'', b'\\x03\\xf4', b'\\xf5\\xf6\\xf7'):\n"
             "...     stream.update(piece)\n"
             ">>> hex(stream.value)\n"
             "'0x220d'\n\n"
             "data      the first piece, any C-contiguous bytes-like object\n"
             "initial   the raw sum to start from, such as that of a pseudo header");

static PyType_Slot checksum_slots[] = {
    {Py_tp_doc, (void *)checksum_type_doc},
    {Py_tp_new, checksum_new},
    {Py_tp_dealloc, checksum_dealloc},
    {Py_tp_repr, checksum_repr},
    {Py_tp_methods, checksum_methods},
    {Py_tp_getset, checksum_properties},
    {0, NULL},
};

static PyType_Spec checksum_spec = {
    .name = "fastcksum.Checksum",
    .basicsize = sizeof(struct checksum),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = checksum_slots,
};

int core_add_checksum(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &checksum_spec, NULL);
    PyObject *name = PyUnicode_InternFromString("rfc1071"), *two = PyLong_FromLong(2);
    int result = -1;
    if (type != NULL && name != NULL && two != NULL && PyObject_SetAttrString(type, "name", name) == 0 &&
        PyObject_SetAttrString(type, "digest_size", two) == 0 && PyObject_SetAttrString(type, "block_size", two) == 0) {
        result = PyModule_AddType(module, (PyTypeObject *)type);
    }
    Py_XDECREF(type);
    Py_XDECREF(name);
    Py_XDECREF(two);
    return result;
}
