/** What a definition and a run may grow to. */
export const LIMITS = {
  documentBytes: 1_048_576,
  nodes: 500,
  edges: 2_000,
  /** Of one parallel node. */
  branches: 20,
  loopIterations: 1_000,
  nodeRuns: 10_000,
  nodesAtOnce: 10,
  subflowDepth: 10,
  /** Definitions that are looked at to find subflows of subflows. */
  subflows: 1_000,
  /** Maximum nesting depth of objects and lists. */
  jsonDepth: 64,
  /** Members and entries of all objects and lists. */
  values: 100_000,
  idLength: 200,
  /** UTF-16 units of the name of a node or a branch: each of their runs repeats it. */
  labelLength: 1_000,
  /** Maximum UTF-16 units of each field of a question, as JSON. Each request stores a copy. */
  questionLength: 65_536,
  /** UTF-16 units of all expressions of a document, repetitions in patterns written out: compiling 50,000 takes up to 0.3 s. */
  expressionsSize: 50_000,
  mapItemsAtOnce: 10,
  /** UTF-16 units of a filled template. */
  filledLength: 4_194_304,
  /** UTF-16 code units of the inputs and outputs of all nodes of a run. */
  runText: 16_777_216,
} as const;
