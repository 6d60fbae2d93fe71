/* module.c: fastcksum._core: its methods, its state, its start and end. Multi-phase init, one state an interpreter. */
#include "python/state.h"

PyDoc_STRVAR(
    raw_cksum_doc,
    "raw_cksum($module, buf, initial=0, /, *, offset=0, length=None,\n"
    "          kernel=None)\n--\n\n"
    "The 16-bit ones'-complement sum of the bytes, not complemented (RFC 1071).\n\n"
    "Words are read in host byte order, and an odd last byte counts as if a zero byte followed it: the number\n"
    "that DPDK's rte_raw_cksum returns, up to the 131,074 bytes where that may wrap; this one stays right.\n"
    "0 only if initial is 0 and every byte is 0.\n\n"
    "buf      any C-contiguous bytes-like object, taken as the bytes that lie in memory\n"
    "initial  a raw sum 0..0xffff to start from; raw_cksum(b, raw_cksum(a)) is the sum of a + b if a has\n"
    "         an even length (combine() knows the other case)\n"
    "offset   first byte to sum, 0..len(buf)\n"
    "length   bytes to sum; None: all from offset on\n"
    "kernel   a name or a Kernel instead of the active one\n\n"
    "TypeError for what is not bytes-like, BufferError for what is not contiguous, ValueError for a number\n"
    "out of range or a kernel that is unknown, can't run here or is a yardstick. The GIL is released for\n"
    "large buffers.");

PyDoc_STRVAR(checksum_doc,
             "checksum($module, buf, initial=0, /, *, offset=0, length=None)\n--\n\n"
             "The Internet checksum (RFC 1071): the number that Wireshark prints and struct's '!H' packs.\n\n"
             "It is the complement of raw_cksum(buf, initial) in network byte order. The checksum field itself must\n"
             "be zero, or left out; verify() wants it in place. The checksum of nothing is 0xffff.\n\n"
             "buf, initial, offset, length and the errors are those of raw_cksum; initial is a raw sum.");

PyDoc_STRVAR(verify_doc,
             "verify($module, buf, initial=0, /, *, offset=0, length=None)\n--\n\n"
             "Whether the bytes, with their checksum field in place, sum to 0xffff (RFC 1071 section 1).\n\n"
             "A field of 0xffff is right where one of 0x0000 is, as they are the same number; comparing with a\n"
             "checksum computed anew would refuse one of them. All-zero data is wrong. A UDP field of 0, which\n"
             "means that no checksum was sent, is not known here: see fastcksum.packets.\n\n"
             "buf, initial, offset, length and the errors are those of raw_cksum; initial is a raw sum.");

PyDoc_STRVAR(
    update_checksum_doc,
    "update_checksum($module, checksum, old, new, /, *, odd=False, udp=False,\n"
    "                full_sum_zero=False)\n--\n\n"
    "The checksum after a part of the data has changed, without the rest of the data (RFC 1624, equation 3).\n\n"
    "checksum       as it stood in the field, 0..0xffff\n"
    "old, new       what was there and what is: bytes-like objects of the same length, or integers of 16 bits\n"
    "               (32 bits if one of them needs that)\n"
    "odd            the change starts at an odd byte of the data, such as a type of service or a protocol:\n"
    "               bytes 1 and 9 of an IPv4 header\n"
    "udp            0 means that there is no checksum and stays; a computed 0 becomes 0xffff\n"
    "full_sum_zero  all other data is zero (an ICMP echo reply can be): where new is zero as well, the result\n"
    "               is the 0xffff of a full sum and not the 0x0000 of equation 3\n\n"
    "ValueError for numbers out of range and for lengths that differ, TypeError for other types.");

PyDoc_STRVAR(combine_doc,
             "combine($module, first, second, first_length)\n--\n\n"
             "The raw sum of two pieces of data laid end to end, from the raw sum of each (RFC 1071 section 2).\n\n"
             "first, second  raw sums, 0..0xffff\n"
             "first_length   bytes of the first piece; only whether it is odd counts: the second is then swapped\n\n"
             "ValueError if a sum is out of range or the length is negative.");

PyDoc_STRVAR(raw_cksum_many_doc,
             "raw_cksum_many($module, buf, offsets, lengths, initial=None, *, out=None,\n"
             "               kernel=None)\n--\n\n"
             "The raw sums of many spans of one buffer: a NumPy array of uint16, one for each span.\n\n"
             "buf      any C-contiguous bytes-like object\n"
             "offsets  first byte of each span; lengths: its bytes. One-dimensional and equally long, of any integer\n"
             "         type, byte order and stride; a sequence of integers will do\n"
             "initial  raw sums 0..0xffff to start from, such as those of pseudo headers: an array, or one for all\n"
             "out      a one-dimensional array of uint16 to fill and return\n"
             "kernel   a name or a Kernel instead of the active one\n\n"
             "A span that does not lie in the buffer is a ValueError that names it, and leaves out as it was. The GIL\n"
             "is released; the arrays may change meanwhile, since every number is checked on a copy right before use.");

PyDoc_STRVAR(pseudo_header_doc,
             "pseudo_header($module, src, dst, protocol, length)\n--\n\n"
             "The raw sum of a pseudo header, to start the sum of a transport header and its data from.\n\n"
             "src, dst  addresses as bytes (4 or 16), text or ipaddress objects, both of one version; with a source\n"
             "          route or a routing header, dst is the final destination\n"
             "protocol  0..255, of the transport: not that of an extension header\n"
             "length    bytes of transport header and data, 0..0xffffffff; 0 is what a card that segments wants in\n"
             "          the field\n\n"
             "ValueError for an address that is none, for two versions, or for a number out of range. RFC 768,\n"
             "RFC 9293, and for IPv6 RFC 8200 section 8.1.");

PyDoc_STRVAR(ipv4_header_checksum_doc,
             "ipv4_header_checksum($module, packet, offset=0)\n--\n\n"
             "The checksum of the IPv4 header at offset, options included, as it should be.\n\n"
             "Its own field counts as zero. Never 0xffff, as no header is all zero (RFC 1624 section 3). ValueError\n"
             "if there is no whole IPv4 header.");

PyDoc_STRVAR(transport_checksum_doc,
             "transport_checksum($module, packet, offset=0, *, link='ip')\n--\n\n"
             "The checksum of the outermost TCP, UDP, UDP-Lite, ICMP, ICMPv6 or DCCP header, as it should be.\n\n"
             "The field itself counts as zero. For UDP and UDP-Lite a computed 0 is 0xffff (RFC 768). ValueError,\n"
             "with the reason, if there is none of these, if the bytes or the lengths do not allow to compute it, or\n"
             "if the packet is a fragment.");

PyDoc_STRVAR(verify_packet_doc,
             "verify_packet($module, packet, offset=0, *, link='ip')\n--\n\n"
             "A verdict on each checksum of a packet and of the packets inside it, the outermost first.\n\n"
             "Tunnels are followed (the README lists them), what an ICMP error quotes is not. Whatever the bytes\n"
             "say, the answer is a list of fastcksum.packets.Verdict; it is empty where no header with a checksum was\n"
             "found. A field is right if the sum over it and all that it covers is 0xffff, so that 0xffff is accepted\n"
             "where 0x0000 is right.\n\n"
             "TypeError and BufferError as for raw_cksum; ValueError for an offset or link that can't be.");

PyDoc_STRVAR(fill_checksums_doc,
             "fill_checksums($module, packet, offset=0, *, link='ip')\n--\n\n"
             "A copy of the whole input with each checksum field of the packet written that can be computed.\n\n"
             "The innermost is written first, so that the outer ones cover it. Fields stay as they are where the\n"
             "bytes do not allow to compute them (fragments, lengths past the end) and where cryptographic\n"
             "authentication takes their place; a UDP field of 0 is filled in.\n\n"
             "TypeError and BufferError as for raw_cksum; ValueError for an offset or link that can't be.");

PyDoc_STRVAR(fill_into_doc,
             "fill_into($module, buffer, offset=0, *, link='ip')\n--\n\n"
             "Writes the checksum fields of a packet in place, as fill_checksums() does in a copy.\n\n"
             "buffer   anything C-contiguous that can be written into: a bytearray, an mmap, an array\n\n"
             "Returns how many fields that changed. TypeError as for raw_cksum; BufferError too for a buffer that is\n"
             "read-only; ValueError for an offset or link that can't be.");

/* A public function, by name: core_NAME, with NAME_doc. */
#define FAST(name) {#name, (PyCFunction)(void (*)(void))core_##name, METH_FASTCALL | METH_KEYWORDS, name##_doc}
static PyMethodDef methods[] = {
    FAST(raw_cksum),
    FAST(checksum),
    FAST(verify),
    FAST(update_checksum),
    FAST(combine),
    FAST(raw_cksum_many),
    FAST(pseudo_header),
    FAST(ipv4_header_checksum),
    FAST(transport_checksum),
    FAST(verify_packet),
    FAST(fill_checksums),
    FAST(fill_into),
    {"packet_checks", core_packet_checks, METH_VARARGS, NULL},
    {"use_verdict_type", core_use_verdict_type, METH_O, NULL},
    {"verify_packets", core_verify_packets, METH_VARARGS, NULL},
    {"mend_packets", core_mend_packets, METH_VARARGS, NULL},
    {"fill_columns", core_fill_columns, METH_VARARGS, NULL},
    {"encode_addresses", core_encode_addresses, METH_VARARGS, NULL},
    {"capture_reader", core_capture_reader, METH_NOARGS, NULL},
    {"scan_capture", core_scan_capture, METH_VARARGS, NULL},
    {"kernel_table", core_kernel_table, METH_NOARGS, NULL},
    {"describe", core_describe, METH_O, NULL},
    {"active_kernel_name", core_active_kernel_name, METH_NOARGS, NULL},
    {"partial", core_partial, METH_VARARGS, NULL},
    {"load_kernel", core_load_kernel, METH_VARARGS, NULL},
    {"find_difference", core_find_difference, METH_VARARGS, NULL},
    {"find_broken_state", core_find_broken_state, METH_VARARGS, NULL},
    {"timer_facts", core_timer_facts, METH_NOARGS, NULL},
    {"cpu_facts", core_cpu_facts, METH_NOARGS, NULL},
    {"decode_cpuid", core_decode_cpuid, METH_O, NULL},
    {"build_facts", core_build_facts, METH_NOARGS, NULL},
    {"count_events", core_count_events, METH_VARARGS, NULL},
    {"decode_counters", core_decode_counters, METH_VARARGS, NULL},
    {"shared_object", core_shared_object, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
#undef FAST

static int execute(PyObject *module)
{
    struct core_state *state = PyModule_GetState(module);
    state->name_offset = PyUnicode_InternFromString("offset");
    state->name_length = PyUnicode_InternFromString("length");
    state->name_kernel = PyUnicode_InternFromString("kernel");
    state->name_capsule = PyUnicode_InternFromString("capsule");
    if (state->name_offset == NULL || state->name_length == NULL || state->name_kernel == NULL ||
        state->name_capsule == NULL) {
        return -1;
    }
    if (PyModule_AddIntConstant(module, "GIL_RELEASE_BYTES", CORE_GIL_RELEASE_BYTES) < 0) {
        return -1;
    }
    if (core_add_kernels(module) < 0 || core_add_checksum(module) < 0 || core_add_packets(module) < 0 ||
        core_add_columns(module) < 0 || core_add_captures(module) < 0) {
        return -1;
    }
    return core_add_bench(module) < 0 || core_add_samples(module) < 0 ? -1 : 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    const struct core_state *state = PyModule_GetState(module);
    Py_VISIT(state->bench_type);
    Py_VISIT(state->verdict_type);
    return 0;
}

static int clear(PyObject *module)
{
    struct core_state *state = PyModule_GetState(module);
    core_clear_kernels(state);
    Py_CLEAR(state->bench_type);
    Py_CLEAR(state->verdict_type);
    Py_CLEAR(state->layers);
    Py_CLEAR(state->statuses);
    Py_CLEAR(state->reasons);
    Py_CLEAR(state->name_offset);
    Py_CLEAR(state->name_length);
    Py_CLEAR(state->name_kernel);
    Py_CLEAR(state->name_capsule);
    return 0;
}

static void release(void *module)
{
    clear(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030d0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "fastcksum._core",
    .m_doc = "The C core of fastcksum; private but for raw_cksum.",
    .m_size = sizeof(struct core_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
