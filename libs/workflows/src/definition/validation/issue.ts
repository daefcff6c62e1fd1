import { SchemaBudget } from '#tools';

import { toPointer } from '../json.js';

/** A workflow with one of these is neither saved nor started. */
export const errorCodes = [
  'NO_START_NODE',
  'MULTIPLE_START_NODES',
  'DISCONNECTED_NODE',
  'CYCLE_DETECTED',
  'MISSING_REQUIRED_PORT',
  'DANGLING_EDGE',
  'UNKNOWN_HANDLE',
  'MISSING_MODEL',
  'MISSING_CONDITION_PROMPT',
  'INVALID_MAX_ITERATIONS',
  'MISSING_SUBFLOW_ID',
  'SUBFLOW_NOT_FOUND',
  'AGENT_NOT_FOUND',
  'MISSING_INPUT_MAPPING',
  'MISSING_OPERATION',
  'INVALID_LIMIT',
  'DATA_VALIDATION_ERROR',
  'EXTENSION_VALIDATION_ERROR',
  'UNKNOWN_NODE_TYPE',
  'DUPLICATE_NODE_ID',
  'UNSUPPORTED_VERSION',
  'LIMIT_EXCEEDED',
  'OVERLAPPING_BODIES',
] as const;

/** The workflow can run, but perhaps not as its author intended. */
export const warningCodes = [
  'EMPTY_PROMPT',
  'DEAD_END_NODE',
  'DUPLICATE_SOURCE_HANDLE',
  'MISSING_EDGE_LABEL',
  'NO_SUBFLOW_OUTPUTS',
  'NO_REGISTRY',
  'NO_INPUT',
  'NO_OUTPUT',
  'MISSING_BODY',
  'MISSING_EXIT',
  'DISCONNECTED_COMPONENTS',
  'UNKNOWN_TOOL',
  'UNKNOWN_HANDLE',
  'HITL_IGNORED',
  'LIMIT_IGNORED',
  'UNKNOWN_PLACEHOLDER',
  'PLACEHOLDER_IGNORED',
] as const;

export type ErrorIssueCode = (typeof errorCodes)[number];
export type WarningIssueCode = (typeof warningCodes)[number];

/** A problem, or a possible problem, of a definition. */
export interface WorkflowIssue {
  readonly type: 'error' | 'warning';
  readonly code: ErrorIssueCode | WarningIssueCode;
  /** A sentence that explains the fix to the author. */
  readonly message: string;
  readonly nodeId?: string;
  readonly edgeId?: string;
  /** A JSON pointer (RFC 6901) into the document. */
  readonly path: string;
}

/** Where an issue is. */
export interface IssuePlace {
  readonly path: readonly PropertyKey[];
  readonly nodeId?: string;
  readonly edgeId?: string;
}

/** Maximum issues of each kind; more would not help the author. */
const MAX_ISSUES = 500;

/** The issues found so far. */
export class IssueList {
  readonly errors: WorkflowIssue[] = [];
  readonly warnings: WorkflowIssue[] = [];
  /** One limit for the checks of all schemas in the document. */
  readonly schemaBudget = new SchemaBudget();
  /** The total size of the compiled expressions of the document, as `celSize` counts. */
  expressionsSize = 0;

  /** Whether further warnings are dropped, so that a check for warnings alone can end. */
  hasAllWarnings(): boolean {
    return this.warnings.length >= MAX_ISSUES;
  }

  error(code: ErrorIssueCode, place: IssuePlace, message: string): void {
    if (this.errors.length < MAX_ISSUES) this.errors.push({ type: 'error', code, message, ...toPlace(place) });
  }

  warning(code: WarningIssueCode, place: IssuePlace, message: string): void {
    if (this.warnings.length < MAX_ISSUES) this.warnings.push({ type: 'warning', code, message, ...toPlace(place) });
  }
}

function toPlace({ path, ...ids }: IssuePlace): Pick<WorkflowIssue, 'nodeId' | 'edgeId' | 'path'> {
  return { ...ids, path: toPointer(path) };
}
