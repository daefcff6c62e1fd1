export { contentHash } from './definition/content-hash.js';
export { type ParsedDocument, parseDocument, type WorkflowDocument } from './definition/document.js';
export { toGraph, type WorkflowGraph } from './definition/graph.js';
export { LIMITS } from './definition/limits.js';
export { type Validation, type ValidateOptions, validateWorkflow } from './definition/validate.js';
export type { SubflowLookup } from './definition/validation/subflow-shapes.js';
export type { WorkflowIssue } from './definition/validation/issue.js';
export type { Workflow, WorkflowVersion } from './definitions/workflow.js';
export {
  type PublishedWorkflow,
  PublishedWorkflowsRepository,
} from './definitions/published-workflows.repository.js';
export { workflowsBySlug } from './definitions/workflow-slugs.js';
export { type SavedDraft, WorkflowsService } from './definitions/workflows.service.js';
export type { Attachment } from './nodes/node-executor.js';
export type { MissedPolicy } from './schedules/missed-slots.js';
export type { ScheduledSlot, SlotStatus, StopReason, WorkflowSchedule } from './schedules/schedule.js';
export { ScheduleTimers } from './schedules/schedule-timers.js';
export { SchedulesService } from './schedules/schedules.service.js';
export { type RerunFromNode, RerunWorkflowService } from './start/rerun-workflow.service.js';
export type { KnownDefinition, KnownRun, StartWorkflow } from './start/start-workflow.js';
export { StartWorkflowService } from './start/start-workflow.service.js';
export { HitlRequestsRepository } from './state/hitl-requests.repository.js';
export { type NodeRun, type NodeRunPage, ShownNodeRunsRepository } from './state/shown-node-runs.repository.js';
export { type DiagramFormat, WorkflowDiagrams } from './state/workflow-diagrams.js';
export type { WorkflowState } from './state/workflow-state.js';
export { WorkflowStateReader } from './state/workflow-state-reader.js';
export { WorkflowsModule } from './workflows.module.js';
export type { NodeStates } from './diagram/drawing.js';
export { toMermaid } from './diagram/to-mermaid.js';
export { toSvg } from './diagram/to-svg.js';
