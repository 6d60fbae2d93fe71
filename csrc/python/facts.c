/* facts.c: what the bench has to know about the CPU, the tick counter and the build. */
#include "python/state.h"

#include <stddef.h>
#include <string.h>

#include "base/cpu.h"
#include "bench/timing.h"
#include "core/registry.h"

/* setup.py says how the module was compiled. */
#if !defined(CKSUM_BUILD_COMPILER)
#define CKSUM_BUILD_COMPILER "unknown"
#endif
#if !defined(CKSUM_BUILD_FLAGS)
#define CKSUM_BUILD_FLAGS "unknown"
#endif
#if defined(__clang__)
#define COMPILER_VERSION "clang " __clang_version__
#else
#define COMPILER_VERSION "gcc " __VERSION__
#endif

PyObject *core_timer_facts(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    struct timing_facts facts;
    Py_BEGIN_ALLOW_THREADS;
    timing_measure_timer(&facts);
    Py_END_ALLOW_THREADS;
    return Py_BuildValue("{ss sd sK sd}", "unit", facts.unit, "step", facts.step, "pair",
                         (unsigned long long)facts.pair, "hz", facts.hz);
}

PyObject *core_build_facts(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return Py_BuildValue("{ss ss ss ss}", "compiler", COMPILER_VERSION, "command", CKSUM_BUILD_COMPILER, "flags",
                         CKSUM_BUILD_FLAGS, "byte_order", CKSUM_LITTLE_ENDIAN ? "little" : "big");
}

/* What the registers of a CPU allow, as the tuple that decode_cpuid returns. NULL with an exception set. */
static PyObject *decoded(const struct cksum_cpuid *cpuid)
{
    const uint32_t can = cksum_cpu_decode(cpuid);
    const unsigned width = cksum_cpu_decode_width(cpuid);
    return Py_BuildValue("NIs", core_feature_names(can), width, cksum_registry_choose(can, width)->name);
}

PyObject *core_cpu_facts(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    const struct cksum_cpuid c = cksum_cpu_read();
    return Py_BuildValue("{sN sI s{sI ss sI sI sI sI sI sI sK}}", "features", core_feature_names(cksum_cpu_can()),
                         "max_vector_bits", cksum_cpu_should(), "registers", "max_leaf", c.max_leaf, "vendor", c.vendor,
                         "leaf1_eax", c.leaf1_eax, "leaf1_ecx", c.leaf1_ecx, "leaf1_edx", c.leaf1_edx, "leaf7_ebx",
                         c.leaf7_ebx, "leaf7_ecx", c.leaf7_ecx, "leaf7_1_eax", c.leaf7_1_eax, "xcr0",
                         (unsigned long long)c.xcr0);
}

PyObject *core_decode_cpuid(PyObject *Py_UNUSED(module), PyObject *registers)
{
    struct cksum_cpuid c = {0};
    const char *vendor;
    unsigned long long xcr0;
    static char *names[] = {"max_leaf",  "vendor",    "leaf1_eax",   "leaf1_ecx", "leaf1_edx",
                            "leaf7_ebx", "leaf7_ecx", "leaf7_1_eax", "xcr0",      NULL};
    if (!PyDict_Check(registers)) {
        PyErr_Format(PyExc_TypeError, "registers must be a dict, not '%.200s'", Py_TYPE(registers)->tp_name);
        return NULL;
    }
    PyObject *empty = PyTuple_New(0), *result = NULL;
    PyObject *copy = empty == NULL ? NULL : PyDict_Copy(registers); /* which __index__ can't change */
    if (copy != NULL &&
        PyArg_ParseTupleAndKeywords(empty, copy, "IsIIIIIIK:decode_cpuid", names, &c.max_leaf, &vendor, &c.leaf1_eax,
                                    &c.leaf1_ecx, &c.leaf1_edx, &c.leaf7_ebx, &c.leaf7_ecx, &c.leaf7_1_eax, &xcr0)) {
        strncpy(c.vendor, vendor, sizeof c.vendor - 1);
        c.xcr0 = xcr0;
        result = decoded(&c);
    }
    Py_XDECREF(copy);
    Py_XDECREF(empty);
    return result;
}

/* ---- what a sample of the bench is ---- */

/* What a sample record holds: (name, NumPy format, byte offset) of each field. */
static PyObject *sample_fields(void)
{
#define FIELD(name, format) #name, format, (Py_ssize_t)offsetof(struct timing_sample, name)
    return Py_BuildValue("[(ssn)(ssn)(ssn)(ssn)(ssn)(ssn)(ssn)(ssn)(ssn)(ssn)(ssn)]", FIELD(ticks, "u8"),
                         FIELD(calls, "u8"), FIELD(result, "u8"), FIELD(round, "u4"), FIELD(order, "u4"),
                         FIELD(cell, "u4"), FIELD(flags, "u4"), FIELD(add_ticks, "u4"), FIELD(mul_ticks, "u4"),
                         FIELD(wide_ticks, "u4"), FIELD(batch, "u4"));
#undef FIELD
}

static PyObject *flag_bits(void)
{
    PyObject *flags = PyDict_New();
#define FLAG(id, bit, text)                                                                                            \
    if (flags != NULL) {                                                                                               \
        PyObject *value = PyLong_FromLong(bit);                                                                        \
        if (value == NULL || PyDict_SetItemString(flags, text, value) < 0) {                                           \
            Py_CLEAR(flags);                                                                                           \
        }                                                                                                              \
        Py_XDECREF(value);                                                                                             \
    }
    TIMING_FLAGS(FLAG)
#undef FLAG
    return flags;
}

int core_add_samples(PyObject *module)
{
    return core_add_constant(module, "FLAGS", flag_bits()) < 0 ||
                   core_add_constant(module, "SAMPLE_FIELDS", sample_fields()) < 0 ||
                   core_add_constant(module, "SAMPLE_SIZE", PyLong_FromSize_t(sizeof(struct timing_sample))) < 0 ||
                   core_add_constant(module, "CHAIN", PyLong_FromLong(TIMING_CHAIN)) < 0
               ? -1
               : 0;
}
