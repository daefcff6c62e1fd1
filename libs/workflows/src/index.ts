export { contentHash } from './definition/content-hash.js';
export { type ParsedDocument, parseDocument, type WorkflowDocument } from './definition/document.js';
export { toGraph, type WorkflowGraph } from './definition/graph.js';
export { LIMITS } from './definition/limits.js';
