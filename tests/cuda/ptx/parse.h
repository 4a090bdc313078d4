/* SPDX-License-Identifier: Apache-2.0
 * parse.h: what the parts of the parser share. */
#ifndef SITU_TESTS_CUDA_PARSE_H
#define SITU_TESTS_CUDA_PARSE_H

#include "cuda/ptx/ptx.h"

enum { WORD_MOST = 192 };

/* A word (a name, a number, an opcode with its dots), a text in quotes, or one other character. */
struct token {
  char text[WORD_MOST];
  int line;
  bool is_word;
};

/* A name of a function: registers (one, or count of them with a number behind the name), or a
 * variable in shared, local or parameter memory. Inner names hide outer ones. */
struct name {
  char text[128];
  enum { NAME_REGISTER, NAME_SHARED, NAME_LOCAL, NAME_PARAM } kind;
  int32_t count; /* -1: no number behind the name */
  int32_t first; /* word, or offset */
  int32_t bytes;
};

struct label {
  char text[128];
  int32_t target;
};

struct parser {
  const char *at;
  int line;
  struct token token;
  struct module *module;
  struct function *function; /* that is being parsed */
  struct name names[512];
  int n_names, scopes[16], depth;
  struct label *labels;
  int n_labels;
  char (*targets)[128]; /* per instruction: the label of a branch */
  char *error;          /* 512 characters; not empty: parsing is over */
};

/* tokens.c: the next token becomes `token`; its text is empty at the end. */
void tokens_next(struct parser *p);
bool tokens_is(const struct parser *p, const char *text);
/* Takes the token if it is this one; or fails if it is not. */
bool tokens_take(struct parser *p, const char *text);
void tokens_need(struct parser *p, const char *text);
/* A whole number. */
int64_t tokens_number(struct parser *p);
/* Parsing ends with an error; the first one stays. */
void tokens_fail(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* operands.c */
struct operand {
  enum {
    OPERAND_WORD,
    OPERAND_ADDRESS, /* [word + offset]; in parameter memory the word is NO_WORD */
    OPERAND_VECTOR,
    OPERAND_LABEL,
  } kind;
  int32_t word, v[VECTOR_MOST];
  int count;
  bool is_param, negated;
  int64_t offset;
  int32_t second; /* of p|q */
  char label[128];
};
/* Parses one operand. */
void operand_parse(struct parser *p, struct operand *out);
/* The word of a constant. */
int32_t operand_constant(struct parser *p, union word value);
const struct name *operand_name(const struct parser *p, const char *text);

/* decode.c: an instruction from its opcode and operands. */
void decode(struct parser *p, const char *opcode, struct operand *operands, int count,
            struct insn *out);

#endif
