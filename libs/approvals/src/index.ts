export type { ApprovalGrant, GrantFilter } from './grants/approval-grants.repository.js';
export { ApprovalGrantsService } from './grants/approval-grants.service.js';
export type { StoredPolicy } from './policies/approval-policies.repository.js';
export { ApprovalPoliciesService } from './policies/approval-policies.service.js';
export {
  type ApprovalAction,
  type ApprovalPolicy,
  type DecidableBy,
  DEFAULT_POLICY,
  type ExpireAction,
  parseApprovalPolicy,
} from './policies/approval-policy.js';
export {
  type ApprovalQuestion,
  type ApprovalRequest,
  approvalRequest,
  argumentsHash,
  type HashedCall,
} from './requests/approval-request.js';
export { type CallQuestion, judgeCall, type MetRule, type PolicyLayer, type Verdict } from './policies/judge-call.js';
export { type DecidableRequest, mayDecide } from './policies/may-decide.js';
export { type Explanation, PolicyExplainer } from './gate/policy-explainer.service.js';
export { MAX_REPLAYED, PolicyReplayService } from './policies/policy-replay.service.js';
export { type ApprovalOutcome, approvalReceipts, type ReceiptCall } from './requests/receipts.js';
export { cannotDecide } from './interrupts/interrupts.errors.js';
export { redactArguments } from './requests/redact-arguments.js';
export type { PolicyReplay } from './policies/replay-tally.js';
export { type ClientCall, clientToolInterrupt, type ClientToolRequest } from './client-tools/client-tool-interrupt.js';
export { type FilteredEnds, type HandedCall, HandedCalls, type HandedResults } from './client-tools/handed-calls.js';
export { clientToolProblem } from './client-tools/client-tool-problem.js';
export { type Claim, type ClaimRef, ClientToolsService } from './client-tools/client-tools.service.js';
export { ApprovalsModule } from './approvals.module.js';
export { type Allowance, CallGate, type GateDecision, type GateJob, operationOf } from './gate/call-gate.js';
export {
  type HumanInputAction,
  humanInputActions,
  humanInputInterrupt,
  type PersonQuestion,
} from './interrupts/human-input-interrupt.js';
export { type InterruptQuery, InterruptsService } from './interrupts/interrupts.service.js';
export { JobCloser } from './interrupts/job-closer.js';
export { unknownOutcomeRequest } from './interrupts/unknown-outcome-request.js';
