export {
  type ApprovalAction,
  type ApprovalPolicy,
  type DecidableBy,
  DEFAULT_POLICY,
  type ExpireAction,
  parseApprovalPolicy,
} from './approval/approval-policy.js';
export {
  type ApprovalQuestion,
  type ApprovalRequest,
  approvalRequest,
  argumentsHash,
  type HashedCall,
} from './approval/approval-request.js';
export { type CallQuestion, judgeCall, type MetRule, type PolicyLayer, type Verdict } from './approval/judge-call.js';
export { type DecidableRequest, mayDecide } from './approval/may-decide.js';
export { type ApprovalOutcome, approvalReceipts, type ReceiptCall } from './approval/receipts.js';
export { redactArguments } from './approval/redact-arguments.js';
export { CallHistory, type EarlierCall } from './call-guards.js';
export { ToolCatalog, WorkspaceTools, type WorkspaceToolSource } from './catalog/tool-catalog.js';
export { canonicalJson } from './canonical-json.js';
export type { ClientSide, ClientToolTerms, OnClientTimeout } from './client-tools/client-side.js';
export { type ClientCall, clientToolInterrupt, type ClientToolRequest } from './client-tools/client-tool-interrupt.js';
export { clientToolProblem } from './client-tools/client-tool-problem.js';
export { defineTool, type JsonSchemaToolSpec, type ZodToolSpec } from './define-tool.js';
export { executeToolCall, type ToolOutcome, type ToolRun } from './execute-tool-call.js';
export {
  APPROVAL_EXPIRED_TEXT,
  CANCELLED_TEXT,
  clientOnly,
  deniedText,
  IDENTICAL_TEXT,
  modelTextOf,
  notRegistered,
  ROUND_LIMIT_TEXT,
  UNKNOWN_OUTCOME_TEXT,
} from './model-text.js';
export { MAX_ARGUMENT_BYTES, parseArguments, type ParsedArguments } from './parse-arguments.js';
export { type CallPlan, type Disposition, type PlannedCall, planCalls } from './plan-calls.js';
export { projectResult, RESULT_BYTES, type ResultAudience } from './project-result.js';
export { type AdvertisedTool, type OfferedHandling, type OfferedTool, resolveOffered } from './resolve-offered.js';
export type {
  JsonSchema,
  OnUnknown,
  Tool,
  ToolContext,
  ToolEffect,
  ToolProgress,
  ToolRuntime,
  ToolSort,
  Verification,
} from './tool.js';
export { ToolRegistry } from './tool.registry.js';
export {
  isOpen,
  type LedgerCall,
  type SettledStatus,
  type Settlement,
  type ToolCallStatus,
  toolCallStatuses,
  type ToolErrorPhase,
  type ToolFailure,
} from './tool-call.js';
export { ToolArgumentsError } from './tools.errors.js';
export { ToolProvider, ToolsModule } from './tools.module.js';
export { idempotencyKey, newCallRow, settleCallRow, startCallRow } from './tool-calls.repository.js';
export { toToolCallItem } from './to-tool-call-item.js';
export { callUpdated } from './interrupts/call-updated.js';
export { type CallDecision, type HeldCall, HeldCallsRepository } from './interrupts/held-calls.repository.js';
