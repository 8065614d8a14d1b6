/* SPDX-License-Identifier: MIT
 *
 * ELF headers and notes of a module in memory. Worker: may run while a hang is on, no allocation.
 */
#include "image/elf/elf.h"

#include "image/elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define NOTES_BYTES_MAX 1024u
#define HOLES_MAX (1u << 20) /* in a program; in larger ones something else may live */
#define PAGE 4096u

/* The NT_GNU_BUILD_ID note among the notes at `at`. */
static void build_id(const struct hd_memory *memory, uint64_t at, uint64_t bytes, uint64_t align,
                     struct hd_module *m) {
    uint8_t notes[NOTES_BYTES_MAX];
    Elf64_Nhdr note;
    if (bytes > sizeof notes) {
        bytes = sizeof notes;
    }
    if (!hd_memory_read(memory, at, notes, bytes)) {
        return;
    }
    uint64_t pad = align == 8 ? 7 : 3;
    for (uint64_t p = 0; bytes - p >= sizeof note;) {
        memcpy(&note, notes + p, sizeof note);
        uint64_t name = p + sizeof note;
        uint64_t desc = p + ((sizeof note + note.n_namesz + pad) & ~pad);
        uint64_t next = desc + ((note.n_descsz + pad) & ~pad);
        if (desc > bytes || note.n_descsz > bytes - desc) {
            return;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
            m->build_id_bytes = (uint8_t)(note.n_descsz < HD_BUILD_ID_MAX ? note.n_descsz : HD_BUILD_ID_MAX);
            memcpy(m->build_id, notes + desc, m->build_id_bytes);
            return;
        }
        if (next > bytes || next <= p) {
            return;
        }
        p = next;
    }
}

/* The program headers. Returns how many, or a negative errno. *entry: as the file says. */
static int program_headers(const struct hd_memory *memory, uint64_t header, Elf64_Phdr *out,
                           uint64_t *entry) {
    Elf64_Ehdr e;
    if (!hd_memory_read(memory, header, &e, sizeof e)) {
        return -EFAULT;
    }
    if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
        e.e_ident[EI_DATA] != ELFDATA2LSB || e.e_phentsize != sizeof(Elf64_Phdr)) {
        return -EINVAL;
    }
    *entry = e.e_entry;
    unsigned n = e.e_phnum < HD_PROGRAM_HEADERS_MAX ? e.e_phnum : HD_PROGRAM_HEADERS_MAX;
    if (!hd_memory_read(memory, header + e.e_phoff, out, n * sizeof *out)) {
        return -EFAULT;
    }
    return (int)n;
}

int hd_elf_headers(const struct hd_memory *memory, struct hd_module *m) {
    Elf64_Phdr ph[HD_PROGRAM_HEADERS_MAX];
    uint64_t entry;
    int n = program_headers(memory, m->header, ph, &entry);
    if (n < 0) {
        return n;
    }
    m->entry = entry != 0 ? m->bias + entry : 0;
    for (int i = 0; i < n; i++) {
        uint64_t at = m->bias + ph[i].p_vaddr;
        if (ph[i].p_type == PT_NOTE && m->build_id_bytes == 0) {
            build_id(memory, at, ph[i].p_filesz, ph[i].p_align, m);
        } else if (ph[i].p_type == PT_GNU_EH_FRAME && m->eh_frame_hdr == 0) {
            m->eh_frame_hdr = at;
        }
    }
    return 0;
}

int hd_elf_bias(const struct hd_memory *memory, struct hd_module *m) {
    Elf64_Phdr ph[HD_PROGRAM_HEADERS_MAX];
    uint64_t entry;
    int n = program_headers(memory, m->header, ph, &entry);
    for (int i = 0; i < n; i++) {
        if (ph[i].p_type == PT_LOAD && ph[i].p_offset < PAGE) { /* the segment with the header */
            m->bias = m->header - (ph[i].p_vaddr - ph[i].p_offset);
            return 0;
        }
    }
    return n < 0 ? n : -EINVAL;
}

void hd_elf_eh_frame(int fd, struct hd_module *m) {
    struct hd_elf_file file;
    Elf64_Shdr s;
    if (m->eh_frame_hdr != 0 || !hd_elf_file_read(&file, fd) ||
        !hd_elf_file_section_called(&file, ".eh_frame", &s)) {
        return;
    }
    uint64_t at = m->bias + s.sh_addr;
    if (at >= m->lo && at < m->hi && s.sh_size <= m->hi - at) {
        m->eh_frame = at;
        m->eh_frame_end = at + s.sh_size;
    }
}

void hd_elf_whole_program(const struct hd_memory *memory, uint64_t headers, uint64_t count,
                          struct hd_module *m) {
    Elf64_Phdr ph[HD_PROGRAM_HEADERS_MAX];
    uint64_t lo = UINT64_MAX, hi = 0, mapped = 0, header = 0;
    if (count > HD_PROGRAM_HEADERS_MAX || !hd_memory_read(memory, headers, ph, count * sizeof *ph)) {
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t from = m->bias + ph[i].p_vaddr, to = from + ph[i].p_memsz;
        if (ph[i].p_type != PT_LOAD) {
            continue;
        }
        from -= from % PAGE;
        if (ph[i].p_offset == 0) {
            header = from;
        }
        lo = from < lo ? from : lo;
        hi = to > hi ? to : hi;
        mapped += to - from;
    }
    if (header == 0 || m->lo < lo || m->hi > hi) {
        return;
    }
    m->header = header; /* of all its parts */
    if (hi - lo - mapped > HOLES_MAX) {
        return;
    }
    m->lo = lo;
    m->hi = hi;
}
