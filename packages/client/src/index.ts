export type { BackOffOptions } from './back-off.js';
export {
  type ClientTool,
  clientTool,
  type ClientTools,
  type SharedTool,
  type ToolContext,
  type ToolHandler,
} from './client-tool.js';
export { createNightshift, type NightshiftOptions, type Timeouts } from './create-nightshift.js';
export type { TokenSource } from './credentials.js';
export type { DownloadOptions, FileContent, Files, TypedUploadOptions, UploadedFile, UploadOptions } from './files.js';
export { isTerminal, type JobEvent, type JobEventOf } from './follow-job.js';
export type {
  ClientToolInput,
  FileAttachmentInput,
  InterruptFilterInput,
  InterruptKind,
  InterruptStatus,
  JobFilterInput,
  JobStatus,
  NotificationFilterInput,
  NotificationType,
  ResolveInterruptInput,
  StartChatInput,
  StartWorkflowInput,
  ToolCallStatus,
  WhenBusy,
  WorkflowAttachmentInput,
} from './generated/graphql.js';
export type { ApprovalRequest, Interrupt, QuestionRequest } from './interrupt.js';
export type { Interrupts } from './interrupts.js';
export type { EventsOptions, JobHandle, JobResult, JobState, StopState } from './job-handle.js';
export { JobWaitingError } from './job-waiting-error.js';
export type { TextChange } from './job-text.js';
export type { Jobs } from './jobs.js';
export type { Nightshift, StartChat, StartedJob, StartWorkflow } from './nightshift.js';
export { NightshiftError, type NightshiftErrorInit } from './nightshift-error.js';
export type { MarkAllOptions, Notification, Notifications } from './notifications.js';
export type { Page, PageOptions } from './page.js';
export type {
  Answer,
  Approval,
  DecisionContext,
  OnApproval,
  OnQuestion,
  OpenRequest,
  ServeOptions,
} from './serve-options.js';
export type { WebSocketClass } from './socket-transport.js';
export type { ArgumentsOf, FromJsonSchema, StandardJsonSchema, ToolSchema } from './tool-schema.js';
export type { DocumentTypeDecoration, TypedDocument } from './typed-document.js';
export type { EndOptions } from './wait-for-end.js';
export type { WaitOptions } from './wait-options.js';
export type {
  WorkflowBranchState,
  WorkflowMessage,
  WorkflowNodeState,
  WorkflowNodeStatus,
  WorkflowRequest,
  WorkflowResult,
  WorkflowResumeState,
  WorkflowState,
  WorkflowToolCall,
} from './workflow-state.js';
