export { lockWorkspace, recordChange } from './admin-audit.repository.js';
export { matchesGlob } from './matches-glob.js';
export { CallHistory, type EarlierCall } from './call-guards.js';
export { ToolCatalog, WorkspaceTools, type WorkspaceToolSource } from './catalog/tool-catalog.js';
export { canonicalJson } from './canonical-json.js';
export type { ClientSide, ClientToolOptions, OnClientTimeout } from './client-side.js';
export { assertSchema } from './assert-schema.js';
export {
  celSize,
  cachedByText,
  celEnvironment,
  compileCel,
  isTooSlow,
  LOOP_STOP_MS,
  MAX_CEL_LENGTH,
  typeNames,
  variableOfType,
} from './cel.js';
export { compileSchema, type SchemaCheck } from './compile-schema.js';
export { SchemaBudget } from './schema-limits.js';
export { defineTool, type JsonSchemaToolSpec, type ZodToolSpec } from './define-tool.js';
export { compileExpression, type ExpressionValues } from './expression.js';
export { executeToolCall, type ToolOutcome, type ToolRun } from './execute-tool-call.js';
export {
  APPROVAL_EXPIRED_TEXT,
  clientOnly,
  deniedText,
  IDENTICAL_TEXT,
  modelTextOf,
  notRegistered,
  ROUND_LIMIT_TEXT,
  toolChanged,
  UNKNOWN_OUTCOME_TEXT,
  PERSON_SILENT_TEXT,
  PERSON_SKIPPED_TEXT,
} from './model-text.js';
export { mayBeRounded, ROUNDED_PROBLEM } from './inexact-json.js';
export { parseArguments, type ParsedArguments, readArguments, type JsonObject } from './parse-arguments.js';
export { ToolCallTelemetry } from './tool-call.telemetry.js';
export { type CallPlan, type Disposition, isUsableCallId, type PlannedCall, planCalls } from './plan-calls.js';
export { canReadOn, projectResult, RESULT_BYTES, type ResultAudience } from './project-result.js';
export {
  type AdvertisedTool,
  type OfferedHandling,
  type OfferedTool,
  type OfferTerms,
  resolveOffered,
} from './resolve-offered.js';
export {
  type JsonSchema,
  MAX_CONCURRENT,
  type OnUnknown,
  type Tool,
  type ToolContext,
  type ToolEffect,
  type ToolProgress,
  type ToolRuntime,
  type ToolSort,
  type Verification,
} from './tool.js';
export { runArguments } from './run-arguments.js';
export { ToolRegistry, TOOL_NAME } from './tool.registry.js';
export { toolCallMoves } from './tool-call.lifecycle.js';
export {
  type Approval,
  type CallState,
  isOpen,
  type LedgerCall,
  type SettledStatus,
  type Settlement,
  type ToolCallStatus,
  toolCallStatuses,
  type ToolErrorPhase,
  type ToolFailure,
} from './tool-call.js';
export { ToolArgumentsError, ToolDidNothing, ToolOutcomeUnknown } from './tools.errors.js';
export { ToolProvider, ToolRegistryModule } from './tool-registry.module.js';
export type { Denied, HookEnd } from './hooks/fold-outcome.js';
export { type EndedCallEvent, type FilteredResult, filterResult, hookResult } from './hooks/filter-result.js';
export { type FilteredEnd, ResultHooks } from './hooks/result-hooks.js';
export { hookDenied } from './hooks/hooks.errors.js';
export { hookApplied } from './hooks/hook-applied.js';
export type { FilterEvent } from './hooks/hook-outcome.js';
export { ActionHooks } from './hooks/action-hooks.js';
export { type ActionEvent, type AppliedHook, type Filtered, type FilterOptions, Hooks } from './hooks/hooks.js';
export { PluginContexts, type PluginServices, type PluginWorkspaces } from './plugins/plugin-contexts.js';
export {
  PluginRegistry,
  type RegisteredHook,
  type RegisteredNode,
  type ShownPlugin,
} from './plugins/plugin.registry.js';
export { storeArtifacts } from './plugins/store-artifacts.js';
export { isPluginNodeType, NODE_MEMBERS, toJsonSchema } from './plugins/check-plugin.js';
export type { LoadedPlugin } from './plugins/load-plugin.js';
export { PluginsModule } from './plugins/plugins.module.js';
export { assertTools } from './plugins/plugin-tools.js';
export { strayErrors } from './plugins/stray-errors.js';
export { ToolsModule } from './tools.module.js';
export {
  idempotencyKey,
  type NewCall,
  newCallRow,
  openCallRow,
  settleCallRow,
  startCallRow,
  verifyCallRow,
} from './ledger/tool-calls.part.js';
export { toToolCallItem, toWireCall } from './to-tool-call-item.js';
export { type AskedPerson, toAskedPerson } from './builtin/ask-person.tool.js';
export { callUpdated } from './remote/call-updated.js';
export { type CallDecision, type LockedCall, AwaitingCallsRepository } from './remote/awaiting-calls.repository.js';
export { type QueuedCall, queueCallRows, queueNewCallRow } from './remote/queue-call.part.js';
export { type DeadToolCall, DeadToolCallsService } from './remote/dead-tool-calls.service.js';
export { mayStartSubJobs, subJobPrefix } from './sub-job-names.js';
export { SubJobs } from './remote/sub-jobs.js';
export { ToolIsolation } from './isolation/tool-isolation.js';
export { ToolQueue } from './remote/tool-queue.js';
export { ToolQueueModule } from './tool-queue.module.js';
export { type CancelCall, type CancelState, ToolQueueCancels } from './remote/tool-queue-cancels.js';
export { ToolQueueSweeper } from './remote/tool-queue-sweeper.js';
export { ToolResults } from './remote/tool-results.js';
export { ToolWorker } from './remote/tool-worker.js';
export { type KeptResult, toKeptResult } from './to-kept-result.js';
export { keepOutputRow, type OutputOf } from './outputs/tool-output.part.js';
export { ToolOutputsRepository } from './outputs/tool-outputs.repository.js';
export { validateArguments, executionError, validateValue } from './validate-arguments.js';
export { parseArgumentCondition } from './history/argument-content.js';
export { CallsOfJobsRepository } from './history/calls-of-jobs.repository.js';
export type { HistoryPage } from './history/history-query.js';
export type { ToolCallContent } from './history/tool-call-content.repository.js';
export type { ToolCallFilter, ToolCallOrder, ToolCallPlace } from './history/tool-call-filter.js';
export type { HistoryCount } from './history/tool-call-history.repository.js';
export { ToolCallHistory } from './history/tool-call-history.service.js';
export { type RecordedFailure, type ToolCallRecord, toToolCallRecord } from './history/tool-call-record.js';
export type { StatsBucket, StatsDimension, ToolCallStats } from './history/tool-call-stats.js';
export { interruptRestoredCalls } from './restored-calls.repository.js';
export { type StartCheck, StartChecks, type StartingRef } from './start-checks.js';
export { CallEnds } from './remote/call-ends.js';
