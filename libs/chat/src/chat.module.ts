import { Module, type OnModuleInit } from '@nestjs/common';

import { ApprovalsModule } from '#approvals';
import { FileRetentionModule, FilesModule } from '#files';
import { IntegrationsModule } from '#integrations';
import { JobHandlers, JobsModule, TurnMessages } from '#jobs';
import { ModelsModule } from '#models';
import { ToolsModule } from '#tools';

import { ActingAgents } from './agents/acting-agents.service.js';
import { AgentChoice } from './agents/agent-choice.js';
import { AgentsRepository } from './agents/agents.repository.js';
import { AgentsService } from './agents/agents.service.js';
import { AnswerWritesRepository } from './answers/answer-writes.repository.js';
import { AnswersRepository } from './answers/answers.repository.js';
import { AppliedRuns } from './answers/applied-runs.service.js';
import { Continuations } from './answers/continuations.service.js';
import { DuplicateMessageFilter } from './answers/duplicate-message-filter.service.js';
import { AttachedFiles } from './attachments/attached-files.service.js';
import { CallIdsRepository } from './calls/call-ids.repository.js';
import { CallRouter } from './calls/call-router.js';
import { ConversationCalls } from './calls/conversation-calls.js';
import { SentCalls } from './calls/sent-calls.js';
import { ToolRunner } from './calls/tool-runner.js';
import { UnknownCalls } from './calls/unknown-calls.js';
import { ChatHandler } from './chat.handler.js';
import { ChatService } from './chat.service.js';
import { DelayedRights } from './delayed-rights.js';
import { DirectCalls } from './direct/direct-calls.service.js';
import { PendingCallsRepository } from './direct/pending-calls.repository.js';
import { ExternalChats } from './external/external-chats.js';
import { ConversationRepository } from './history/conversation.repository.js';
import { ConversationHooks } from './hooks/conversation-hooks.js';
import { NodeConversationsRepository } from './nodes/node-conversations.repository.js';
import { NodeConversations } from './nodes/node-conversations.service.js';
import { NodeLoops } from './nodes/node-loops.service.js';
import { OutagesRepository } from './outages/outages.repository.js';
import { ProviderOutages } from './outages/provider-outages.service.js';
import { CallingChats } from './sub-jobs/calling-chats.service.js';
import { StartedJobsRepository } from './sub-jobs/started-jobs.repository.js';
import { StartedJobs } from './sub-jobs/started-jobs.service.js';
import { SubJobToolSource } from './sub-jobs/sub-job-tool.source.js';
import { MessagesRepository } from './threads/messages.repository.js';
import { RoundsRepository } from './threads/rounds.repository.js';
import { ThreadsRepository } from './threads/threads.repository.js';
import { ThreadsService } from './threads/threads.service.js';
import { chatTurns } from './threads/turn-message.part.js';

const answers = [
  AnswersRepository,
  AnswerWritesRepository,
  AppliedRuns,
  CallIdsRepository,
  Continuations,
  DuplicateMessageFilter,
];
const threads = [MessagesRepository, RoundsRepository, ThreadsRepository, ThreadsService];
const subJobs = [CallingChats, StartedJobs, StartedJobsRepository, SubJobToolSource];

/** Conversations as background jobs: builds the messages of a turn when a job starts, and registers the handler of chat jobs. */
@Module({
  imports: [
    ApprovalsModule,
    FileRetentionModule,
    FilesModule,
    IntegrationsModule,
    JobsModule,
    ModelsModule,
    ToolsModule,
  ],
  providers: [
    ActingAgents,
    AgentChoice,
    AgentsRepository,
    AgentsService,
    AttachedFiles,
    CallRouter,
    ChatHandler,
    ChatService,
    ConversationCalls,
    ConversationHooks,
    ConversationRepository,
    DelayedRights,
    DirectCalls,
    ExternalChats,
    NodeConversations,
    NodeConversationsRepository,
    NodeLoops,
    OutagesRepository,
    PendingCallsRepository,
    ProviderOutages,
    SentCalls,
    ToolRunner,
    UnknownCalls,
    ...answers,
    ...subJobs,
    ...threads,
  ],
  exports: [
    AgentsService,
    AttachedFiles,
    ChatHandler,
    ChatService,
    DirectCalls,
    ExternalChats,
    NodeConversations,
    ...answers,
    ...threads,
  ],
})
export class ChatModule implements OnModuleInit {
  constructor(
    private readonly handlers: JobHandlers,
    private readonly turns: TurnMessages,
    private readonly handler: ChatHandler,
  ) {}

  onModuleInit(): void {
    this.turns.register(chatTurns);
    this.handlers.register(this.handler);
  }
}
