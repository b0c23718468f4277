/* The links of an HTML page by a tokenizer without a tree: fast, for the pages on which the tree makes no difference.

   The tokenizer is that of the HTML Standard (section 13.2.5) as far as it decides where a tag begins and ends and what its
   attributes are. It gives the page up, for a parser with a tree, at what can drop or make up elements of interest: see TREE, and the
   rules of SVG and select. What is left may move or copy such an element (tables, misnested tags), but neither loses it nor changes
   its attributes.

   Linear in the page: no state goes back. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <string.h>

typedef const unsigned char *Bytes;

typedef struct {
    Bytes start, end;
} Span;

/* What a start tag means. */
typedef enum {
    ORDINARY,
    ANCHOR,  /* a: of it only the href is kept */
    BASE,    /* ELEMENT, once */
    ELEMENT, /* of interest: kept with its attributes */
    LINK,    /* ELEMENT, if its attributes say what matters */
    META,    /* the same */
    IFRAME,  /* ELEMENT and RAW_TEXT */
    RAW_TEXT,
    SCRIPT,
    TITLE,
    SELECT, /* holds nothing but options */
    OPTION,
    SVG, /* holds nothing but drawing elements, and titles without markup */
    DRAWING,
    TREE, /* how to read on, or what becomes of it, only a tree tells */
} Kind;

static const struct {
    const char *name;
    Kind kind;
} KINDS[] = {
    {"a", ANCHOR},         {"area", ELEMENT},           {"base", BASE},
    {"circle", DRAWING},   {"clippath", DRAWING},       {"defs", DRAWING},
    {"ellipse", DRAWING},  {"frameset", TREE},          {"g", DRAWING},
    {"iframe", IFRAME},    {"image", DRAWING},          {"line", DRAWING},
    {"link", LINK},        {"lineargradient", DRAWING}, {"marker", DRAWING},
    {"mask", DRAWING},     {"math", TREE},              {"meta", META},
    {"noembed", TREE},     {"noframes", TREE},          {"optgroup", OPTION},
    {"option", OPTION},    {"path", DRAWING},           {"pattern", DRAWING},
    {"plaintext", TREE},   {"polygon", DRAWING},        {"polyline", DRAWING},
    {"rect", DRAWING},     {"radialgradient", DRAWING}, {"script", SCRIPT},
    {"select", SELECT},    {"stop", DRAWING},           {"style", RAW_TEXT},
    {"svg", SVG},          {"symbol", DRAWING},         {"template", TREE},
    {"text", DRAWING},     {"textarea", RAW_TEXT},      {"title", TITLE},
    {"tspan", DRAWING},    {"use", DRAWING},            {"xmp", TREE},
};
enum { KINDS_COUNT = sizeof KINDS / sizeof KINDS[0], NAME_MAX_LENGTH = 14, SLOTS = 26 * 16 };

static unsigned char first_of[SLOTS]; /* by first letter and length: 1 + index in KINDS, 0: none */
static unsigned char next_of[KINDS_COUNT];
static PyObject *name_of[KINDS_COUNT];

/* Character classes */

enum { SPACE = 1, NAME_END = 2, LETTER = 4, ATTRIBUTE_END = 8, UNQUOTED_END = 16 };
static unsigned char class_of[256];

static inline bool is(unsigned char byte, int classes) { return class_of[byte] & classes; }

static inline unsigned char lower(unsigned char byte) {
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

/* Whether the text at p begins with a word (in lower case), in any case. */
static inline bool begins(Bytes p, Bytes end, const char *word, size_t length) {
    if ((size_t)(end - p) < length) return false;
    for (size_t i = 0; i < length; i++)
        if (lower(p[i]) != (unsigned char)word[i]) return false;
    return true;
}

/* The same for a whole tag name. */
static inline bool is_named(Bytes p, Bytes end, const char *name, size_t length) {
    return begins(p, end, name, length) && p + length < end && is(p[length], NAME_END);
}

/* Whether one of the words (in lower case) occurs in the text, in any case. */
static bool mentions(Bytes p, Bytes end, const char *const words[]) {
    for (; p < end; p++)
        for (const char *const *word = words; *word; word++)
            if (lower(*p) == (unsigned char)**word && begins(p, end, *word, strlen(*word)))
                return true;
    return false;
}

static int index_of(Span name) {
    size_t length = (size_t)(name.end - name.start);
    if (length > NAME_MAX_LENGTH) return -1;
    int index = first_of[(lower(*name.start) - 'a') * 16 + length] - 1;
    while (index >= 0 && !begins(name.start, name.end, KINDS[index].name, length))
        index = next_of[index] - 1;
    return index;
}

/* Where constructs end. Each takes the place after the opening and returns the place after the end, or the end of the page. */

static Bytes find(Bytes p, Bytes end, int byte) {
    Bytes found = p < end ? memchr(p, byte, (size_t)(end - p)) : NULL;
    return found ? found : end;
}

static Bytes after_gt(Bytes p, Bytes end) {
    p = find(p, end, '>');
    return p < end ? p + 1 : end;
}

static Bytes after_comment(Bytes text, Bytes end) {
    if (begins(text, end, ">", 1)) return text + 1;
    if (begins(text, end, "->", 2)) return text + 2;
    for (Bytes gt = find(text, end, '>'); gt < end; gt = find(gt + 1, end, '>')) {
        Bytes p = gt;
        if (p > text && p[-1] == '!') p--;
        if (p - text >= 2 && p[-1] == '-' && p[-2] == '-') return gt + 1;
    }
    return end;
}

/* The "</" of the end tag that ends raw text. */
static Bytes raw_text_end(Bytes p, Bytes end, const char *name, size_t length) {
    for (p = find(p, end, '<'); p < end; p = find(p + 1, end, '<'))
        if (begins(p, end, "</", 2) && is_named(p + 2, end, name, length)) return p;
    return end;
}

/* The same for a script, which may hold "<!-- <script> </script> -->": the end tag in there is not its own. */
static Bytes script_end(Bytes p, Bytes end) {
    enum { DATA, ESCAPED, DOUBLE_ESCAPED } state = DATA;
    int dashes = 0;
    while (p < end) {
        if (state == DATA) {
            p = find(p, end, '<');
            if (begins(p, end, "<!--", 4)) {
                state = ESCAPED;
                dashes = 2;
                p += 4;
                continue;
            }
        }
        if (p == end) break;
        if (*p == '<' && begins(p, end, "</", 2) && is_named(p + 2, end, "script", 6)) {
            if (state != DOUBLE_ESCAPED) return p;
            state = ESCAPED;
        } else if (*p == '<' && state == ESCAPED && is_named(p + 1, end, "script", 6)) {
            state = DOUBLE_ESCAPED;
        } else if (*p == '>' && dashes >= 2) {
            state = DATA;
        }
        dashes = *p == '-' ? dashes + 1 : 0;
        p++;
    }
    return end;
}

/* Attributes */

typedef enum { ATTRIBUTE, TAG_END, SELF_CLOSING, PAGE_END } Step;

/* Read one attribute, or the end of the tag. */
static inline Step next_attribute(Bytes *at, Bytes end, Span *name, Span *value) {
    Bytes p = *at;
    bool slash = false;
    while (p < end && (is(*p, SPACE) || *p == '/')) slash = *p++ == '/';
    if (p >= end) return PAGE_END;
    if (*p == '>') {
        *at = p + 1;
        return slash ? SELF_CLOSING : TAG_END;
    }
    name->start = p++; /* an equals sign here belongs to the name */
    while (p < end && !is(*p, ATTRIBUTE_END)) p++;
    name->end = value->start = value->end = p;
    while (p < end && is(*p, SPACE)) p++;
    if (p < end && *p == '=') {
        p++;
        while (p < end && is(*p, SPACE)) p++;
        if (p >= end) return PAGE_END;
        if (*p == '"' || *p == '\'') {
            value->start = p + 1;
            value->end = find(p + 1, end, *p);
            if (value->end == end) return PAGE_END;
            p = value->end + 1;
        } else {
            value->start = p;
            while (p < end && !is(*p, UNQUOTED_END)) p++;
            value->end = p;
        }
    }
    *at = p;
    return ATTRIBUTE;
}

/* An attribute value up to its fragment. A "#" after "&" begins no fragment but a character reference; one after a space stays, as
   that space is not at the end of the URL. */
static Span without_fragment(Span value) {
    for (Bytes p = find(value.start, value.end, '#'); p < value.end; p = find(p + 1, value.end, '#'))
        if (p == value.start || p[-1] != '&') {
            value.end = p > value.start && p[-1] <= ' ' ? p + 1 : p;
            break;
        }
    return value;
}

/* The page */

typedef struct {
    PyObject *anchors;  /* dict: href -> None */
    PyObject *elements; /* list of (name, source of the attributes, number of anchors before it) */
    Py_ssize_t anchors_max, elements_max, value_max;
    const char *agent;
} Found;

static bool add_anchor(Found *found, Span value) {
    if (PyDict_GET_SIZE(found->anchors) >= found->anchors_max) return true;
    if (value.end - value.start > found->value_max) return true;
    value = without_fragment(value);
    PyObject *href = PyBytes_FromStringAndSize((const char *)value.start, value.end - value.start);
    bool added = href && PyDict_SetItem(found->anchors, href, Py_None) == 0;
    Py_XDECREF(href);
    return added;
}

static bool add_element(Found *found, int index, Bytes start, Bytes end) {
    /* Most meta elements and links of a page are for others. A character reference may hide the word. */
    if (KINDS[index].kind == LINK &&
        !mentions(start, end, (const char *const[]){"alternate", "canonical", "next", "&", NULL}))
        return true;
    if (KINDS[index].kind == META &&
        !mentions(start, end, (const char *const[]){"refresh", "robots", found->agent, "&", NULL}))
        return true;
    if (PyList_GET_SIZE(found->elements) >= found->elements_max) return true;
    PyObject *element = Py_BuildValue("(Oy#n)", name_of[index], start, (Py_ssize_t)(end - start),
                                      PyDict_GET_SIZE(found->anchors));
    bool added = element && PyList_Append(found->elements, element) == 0;
    Py_XDECREF(element);
    return added;
}

typedef enum { SCANNED, LEFT_TO_TREE, FAILED } End;

static End scan_page(Bytes p, Bytes end, bool whole_anchors, Found *found, Span *title) {
    enum { HTML, IN_SELECT, IN_SVG, IN_SVG_TITLE } place = HTML;
    bool has_base = false;
    for (;;) {
        p = find(p, end, '<');
        if (end - p < 2) return SCANNED;
        unsigned char next = *++p;
        bool is_end_tag = next == '/';
        if (is_end_tag) {
            if (++p == end) return SCANNED;
            next = *p;
        }
        if (!is(next, LETTER)) {
            if (is_end_tag || next == '?') {
                p = after_gt(p, end);
            } else if (next == '!') {
                if (begins(p, end, "!--", 3)) {
                    p = after_comment(p + 3, end);
                } else {
                    if (place == IN_SVG || place == IN_SVG_TITLE) return LEFT_TO_TREE; /* CDATA */
                    p = after_gt(p, end);
                }
            }
            continue;
        }

        Span tag = {p, p + 1};
        while (tag.end < end && !is(*tag.end, NAME_END)) tag.end++;
        int index = index_of(tag);
        Kind kind = index < 0 ? ORDINARY : KINDS[index].kind;
        if (kind == TREE && !is_end_tag) return LEFT_TO_TREE;

        Span name, value, href = {NULL, NULL};
        Step step;
        p = tag.end;
        while ((step = next_attribute(&p, end, &name, &value)) == ATTRIBUTE)
            if ((kind == ANCHOR || kind == BASE) && !href.start && name.end - name.start == 4 &&
                begins(name.start, name.end, "href", 4))
                href = value;
        if (step == PAGE_END) return SCANNED;

        if (place == IN_SVG_TITLE) {
            if (!is_end_tag || kind != TITLE) return LEFT_TO_TREE;
            place = IN_SVG;
        } else if (place == IN_SVG) {
            if (kind == SVG && is_end_tag)
                place = HTML;
            else if (kind == TITLE && !is_end_tag)
                place = step == SELF_CLOSING ? IN_SVG : IN_SVG_TITLE;
            else if (kind != DRAWING)
                return LEFT_TO_TREE;
        } else if (place == IN_SELECT) {
            if (kind == SELECT && is_end_tag)
                place = HTML;
            else if (kind != OPTION)
                return LEFT_TO_TREE;
        } else if (!is_end_tag) {
            switch (kind) {
            case ANCHOR:
                if (whole_anchors) {
                    if (!add_element(found, index, tag.end, p)) return FAILED;
                } else if (href.start && !add_anchor(found, href)) {
                    return FAILED;
                }
                break;
            case BASE:
                if (has_base && href.start) return LEFT_TO_TREE; /* a table may move one before the other */
                has_base = has_base || href.start; /* fall through */
            case ELEMENT:
            case LINK:
            case META:
            case IFRAME:
                if (!add_element(found, index, tag.end, p)) return FAILED;
                if (kind == IFRAME) p = raw_text_end(p, end, "iframe", 6);
                break;
            case RAW_TEXT:
                p = raw_text_end(p, end, KINDS[index].name, strlen(KINDS[index].name));
                break;
            case SCRIPT:
                p = script_end(p, end);
                break;
            case TITLE:
                if (title->start) return LEFT_TO_TREE;
                title->start = p;
                p = title->end = raw_text_end(p, end, "title", 5);
                break;
            case SELECT:
                place = IN_SELECT;
                break;
            case SVG:
                if (step != SELF_CLOSING) place = IN_SVG;
                break;
            default:
                break;
            }
        }
    }
}

PyDoc_STRVAR(scan_doc,
"scan(page, agent, whole_anchors, anchors_max, elements_max, value_max, /)\n--\n\n"
"Find what matters in a page, or return None where only a tree can tell.\n\n"
"Args:\n"
"    page: bytes in UTF-8 or another extension of ASCII.\n"
"    agent: product token, in lower case, by which meta elements may name this crawler.\n"
"    whole_anchors: put ``a`` elements among the elements, with all their attributes.\n"
"    anchors_max, elements_max: what comes after so many is left out.\n"
"    value_max: bytes of an href; an anchor with a longer one is left out.\n\n"
"Returns:\n"
"    (hrefs of the ``a`` elements, each once, as in the source, without fragments;\n"
"    other elements that may matter, each with its name, the source of its attributes and the number of hrefs before it;\n"
"    source of the title).");

static PyObject *scan(PyObject *module, PyObject *args) {
    PyObject *page, *result = NULL;
    int whole_anchors;
    Found found;
    if (!PyArg_ParseTuple(args, "Sspnnn", &page, &found.agent, &whole_anchors, &found.anchors_max,
                          &found.elements_max, &found.value_max))
        return NULL;
    Bytes start = (Bytes)PyBytes_AS_STRING(page);
    Span title = {NULL, NULL};
    found.anchors = PyDict_New();
    found.elements = PyList_New(0);
    if (found.anchors && found.elements) {
        End end = scan_page(start, start + PyBytes_GET_SIZE(page), whole_anchors, &found, &title);
        if (end == LEFT_TO_TREE)
            result = Py_NewRef(Py_None);
        else if (end == SCANNED)
            result = Py_BuildValue("(NOy#)", PyDict_Keys(found.anchors), found.elements,
                                   title.start ? (const char *)title.start : "",
                                   (Py_ssize_t)(title.end - title.start));
    }
    Py_XDECREF(found.anchors);
    Py_XDECREF(found.elements);
    return result;
}

static void set_class(const char *members, size_t count, int class) {
    for (size_t i = 0; i < count; i++) class_of[(unsigned char)members[i]] |= class;
}

static int prepare(PyObject *module) {
    memset(first_of, 0, sizeof first_of); /* each interpreter of a process comes here */
    set_class("\t\n\f\r ", 5, SPACE | NAME_END | ATTRIBUTE_END | UNQUOTED_END);
    set_class("/", 1, NAME_END | ATTRIBUTE_END);
    set_class(">", 1, NAME_END | ATTRIBUTE_END | UNQUOTED_END);
    set_class("=", 1, ATTRIBUTE_END);
    for (int letter = 'a'; letter <= 'z'; letter++)
        set_class((char[]){(char)letter, (char)(letter - 'a' + 'A')}, 2, LETTER);
    for (int i = 0; i < KINDS_COUNT; i++) {
        const char *name = KINDS[i].name;
        unsigned char *first = &first_of[(name[0] - 'a') * 16 + strlen(name)];
        next_of[i] = *first;
        *first = (unsigned char)(i + 1);
        if (!name_of[i] && !(name_of[i] = PyUnicode_InternFromString(name))) return -1;
    }
    return 0;
}

static PyMethodDef methods[] = {
    {"scan", scan, METH_VARARGS, scan_doc},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_scanner", "Links of HTML pages by a tokenizer without a tree.", 0,
    methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__scanner(void) { return PyModuleDef_Init(&definition); }
