export { buildHistory, type HistoryJob, type HistoryMessage, type HistoryRound } from './history/build-history.js';
export { interruptedTurn } from './history/interrupted-turn.js';
export { repairConversation } from './history/repair-conversation.js';
export { toChatMessage } from './history/to-chat-message.js';
export type {
  CallResult,
  LoopCall,
  LoopInput,
  LoopLimits,
  LoopOutcome,
  LoopReply,
  LoopRound,
  LoopStep,
  OpenRound,
} from './loop/loop-step.js';
export { runCalls, type RunCallsPorts, type StartVerdict } from './loop/run-calls.js';
export { type CommittedRound, toLoopRounds } from './loop/to-loop-rounds.js';
export { toolLoop } from './loop/tool-loop.js';
export { chooseRoute, type ChosenWay, type RoutingReply } from './routing/choose-route.js';
export { type DescribedRoute, type RoutingRequest, routingRequest } from './routing/routing-request.js';
export type {
  Agent,
  AgentLimits,
  AgentPin,
  AgentPreset,
  AgentSettings,
  AgentVersion,
  AgentSelection,
  ChosenAgent,
  ListedAgent,
  ToolEventFormat,
} from './input/agent.js';
export type { AgentChanges, NewAgent } from './agents/agent-input.js';
export { type AgentChange, AgentsService } from './agents/agents.service.js';
export type {
  Answer,
  AnsweredSessionCall,
  AnswerFormat,
  AnswerSession,
  AnswerState,
  AppliedAnswer,
  ContinuationDigests,
  KnownAnswers,
  NewAnswer,
} from './answers/answer.js';
export { isConcurrentWrite, newAnswerRow, type SessionStep, sessionStepRow } from './answers/answer-part.repository.js';
export { type AnswerLookup, AnswersRepository } from './answers/answers.repository.js';
export { type AppliedRun, AppliedRuns } from './answers/applied-runs.service.js';
export { DuplicateMessageFilter } from './answers/duplicate-message-filter.service.js';
export { type ContinuationInput, Continuations, type LockedAnswer } from './answers/continuations.service.js';
export { AttachedFiles } from './attachments/attached-files.service.js';
export { partsOf, toFilePart } from './attachments/file-parts.js';
export { ChatModule } from './chat.module.js';
export { ChatService } from './chat.service.js';
export type { StartChat } from './input/start-chat.js';
export type { ProviderDownOptions } from './outages/provider-outages.service.js';
export { ConversationFailed } from './nodes/conversation-failed.js';
export {
  type ExternalAnswer,
  type ExternalCallEnd,
  type ExternalChat,
  ExternalChats,
  type ExternalQuestion,
  type ExternalReference,
} from './external/external-chats.js';
export { DirectCalls, type StartDirectCall } from './direct/direct-calls.service.js';
export type { DirectCall } from './input/direct-call.js';
export type { JobConversations } from './nodes/job-conversations.js';
export { CallProgress } from './calls/call-progress.js';
export { unlessCancelled } from './calls/job-calls.js';
export type { CallingRun, ConversationNode, NodeCallingRun } from './calls/calling-run.js';
export type {
  ConversationOptions,
  NodeConversationResult,
  NodeCallEnd,
  NodeConversation,
} from './nodes/node-conversation.js';
export { NodeConversations } from './nodes/node-conversations.service.js';
export { MessagesRepository, type PositionPage } from './threads/messages.repository.js';
export { contentOf, type RoundRecord, RoundsRepository } from './threads/rounds.repository.js';
export type { Message, Thread } from './threads/thread.js';
export { type ThreadFilter, ThreadsRepository } from './threads/threads.repository.js';
export { ThreadsService } from './threads/threads.service.js';
export { turnRows } from './threads/turn-message.part.js';
