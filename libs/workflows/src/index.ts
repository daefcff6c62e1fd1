export { contentHash } from './definition/content-hash.js';
export { type ParsedDocument, parseDocument, type WorkflowDocument } from './definition/document.js';
export { toGraph, type WorkflowGraph } from './definition/graph.js';
export { LIMITS } from './definition/limits.js';
export { type Validation, type ValidateOptions, validateWorkflow } from './definition/validate.js';
export type { SubflowLookup } from './definition/validation/subflow-shapes.js';
export type { WorkflowIssue } from './definition/validation/issue.js';
