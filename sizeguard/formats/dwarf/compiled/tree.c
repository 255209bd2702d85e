#include "entries.h"

// Code sections, ascending and disjoint; most addresses are in the same one.
typedef struct {
  const int64_t* start;
  const int64_t* end;
  int64_t count;
  int64_t last;
} Sections;

// The columns of InlineTree, with room for some nodes and rows.
typedef struct {
  int32_t* parent;
  int32_t* depth;
  int64_t* entry;
  int64_t* low;
  int64_t* high;
  int32_t* node;
  int64_t node_room;
  int64_t row_room;
  int64_t nodes;
  int64_t rows;
} Columns;

typedef struct {
  Dwarf* dwarf;
  Sections sections;
  Columns to;
} Tree;

// What contains an entry: a node, NONE outside code, or TOP outside all functions.
typedef struct {
  int64_t node;
  int64_t depth;
} Context;

enum { TOP = -2 };

static int find_section(Sections* sections, int64_t low) {
  int64_t which = sections->last;
  if (sections->count > 0 && low >= sections->start[which] && low < sections->end[which]) {
    return 1;
  }
  int64_t first = 0;
  for (int64_t high = sections->count; first < high;) {
    int64_t middle = first + (high - first) / 2;
    if (sections->start[middle] <= low) {
      first = middle + 1;
    } else {
      high = middle;
    }
  }
  if (first == 0 || low >= sections->end[first - 1]) {
    return 0;
  }
  sections->last = first - 1;
  return 1;
}

// Add a range to the node that is read, if it begins in a code section; cut it at the section's
// end.
//
// A removed function, which is at 0, may be longer than firmware's first section of code.
static int add_range(void* to, uint64_t low, uint64_t high) {
  Tree* tree = to;
  if (low > INT64_MAX || !find_section(&tree->sections, (int64_t)low)) {
    return 0;
  }
  int64_t end = tree->sections.end[tree->sections.last];
  if (low == 0 && high > (uint64_t)end) {
    return 0;
  }
  Columns* columns = &tree->to;
  if (columns->rows < columns->row_room) {
    columns->low[columns->rows] = (int64_t)low;
    columns->high[columns->rows] = high < (uint64_t)end ? (int64_t)high : end;
    columns->node[columns->rows] = (int32_t)columns->nodes;
  }
  columns->rows++;
  return 0;
}

// Add the node of a function or an inlined function, if it has code. Sets what is around the
// entries in it.
static int add_node(Tree* tree, const Unit* unit, int64_t place, const Value of[4], Context around,
                    Context* inner) {
  Columns* columns = &tree->to;
  int64_t rows = columns->rows;
  *inner = around;
  int error = read_ranges(tree->dwarf, unit, of, add_range, tree);
  if (error != 0 || columns->rows == rows) {
    return error;
  }
  inner->depth = around.node >= 0 ? around.depth + 1 : 0;
  if (inner->depth > DEEPEST) {
    return failed(tree->dwarf, TOO_DEEP, place);
  }
  inner->node = columns->nodes;
  if (columns->nodes < columns->node_room) {
    int is_here = of[3].form != 0 && !is_elsewhere(of[3].form);
    columns->parent[columns->nodes] = (int32_t)around.node;
    columns->depth[columns->nodes] = (int32_t)inner->depth;
    columns->entry[columns->nodes] = is_here ? (int64_t)of[3].value : place;
  }
  columns->nodes++;
  return 0;
}

// Add the functions of a unit to the tree, in the order of the entries.
static int walk_unit(Tree* tree, Unit* unit, Context* outer) {
  static const int wanted[] = {AT_LOW_PC, AT_HIGH_PC, AT_RANGES, AT_ABSTRACT_ORIGIN, AT_SIBLING};
  Walk walk;
  Context context = outer[0] = (Context){TOP, 0};
  int error = begin_walk(tree->dwarf, unit, &walk);
  while (error == 0 && walk.at < unit->end) {
    const Shape* shape;
    Value of[5];
    error = next_entry(&walk, wanted, 5, &shape, of);
    if (error != 0) {
      break;
    }
    if (shape == NULL) {
      context = outer[walk.depth];
      continue;
    }
    int is_placed = of[0].form != 0 || of[2].form != 0;
    uint64_t sibling = of[4].value;
    int is_inlined = shape->tag == TAG_INLINED;
    int is_function = shape->tag == TAG_SUBPROGRAM;
    // Blocks pass on what is around them. gcc puts the functions of a class that is local to a
    // function into the class.
    Context inner = context;
    if (is_type(shape->tag)) {
      if (context.node == TOP && sibling > (uint64_t)walk.at && sibling < (uint64_t)unit->end) {
        walk.at = (int64_t)sibling;
        continue;
      }
      inner.node = context.node == TOP ? TOP : NONE;
    } else if (is_placed && (is_function || (is_inlined && context.node >= 0))) {
      Context around = {is_inlined ? context.node : NONE, context.depth};
      of[3].form = is_inlined ? of[3].form : 0;
      error = add_node(tree, unit, walk.place, of, around, &inner);
    } else if (is_function) {
      inner.node = NONE;
    }
    if (error == 0 && shape->has_children) {
      outer[walk.depth] = context;
      context = inner;
      error = descend(&walk);
    }
  }
  return error;
}

// Read all functions with an address in code, and those inlined into them.
//
// units[unit_count]: indices. start[sections], end[sections]: of the code sections, ascending and
// disjoint. Functions that the linker removed are at 0 or at a marker, outside all code. Writes the
// columns of the first node_room nodes and row_room rows, and the numbers of nodes and rows to
// counts. Returns 0, or an error with its sign changed.
EXPORT int64_t read_tree(Dwarf* dwarf, const int64_t* units, int64_t unit_count,
                         const int64_t* start, const int64_t* end, int64_t sections,
                         int32_t* parent, int32_t* depth, int64_t* entry, int64_t node_room,
                         int64_t* low, int64_t* high, int32_t* node, int64_t row_room,
                         int64_t* counts) {
  Columns columns = {parent, depth, entry, low, high, node, node_room, row_room, 0, 0};
  Tree tree = {dwarf, {start, end, sections, 0}, columns};
  Context outer[MOST_NESTED + 1];
  int error = 0;
  for (int64_t i = 0; i < unit_count && error == 0; i++) {
    error = walk_unit(&tree, dwarf->units + units[i], outer);
  }
  counts[0] = tree.to.nodes;
  counts[1] = tree.to.rows;
  return -error;
}
