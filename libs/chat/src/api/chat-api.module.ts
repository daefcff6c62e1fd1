import { Module } from '@nestjs/common';

import { JobsModule } from '#jobs';
import { JobsApiModule, LimitsModule } from '#jobs/api';

import { ChatModule } from '../chat.module.js';
import { AgentMutationsResolver } from './agents/agent-mutations.resolver.js';
import { AgentsResolver } from './agents/agents.resolver.js';
import { JobAgentResolver } from './agents/job-agent.resolver.js';
import { JobRoundsResolver, RoundFieldsResolver } from './rounds/job-rounds.resolver.js';
import { RoundLoaders } from './rounds/round-loaders.js';
import { JobStart } from './start/job-start.js';
import { StartController } from './start/start.controller.js';
import { StartChatResolver } from './start/start-chat.resolver.js';
import { JobThreadResolver } from './threads/job-thread.resolver.js';
import { MessageFieldsResolver, ThreadFieldsResolver } from './threads/thread-fields.resolver.js';
import { ThreadLoaders } from './threads/thread-loaders.js';
import { ThreadPages } from './threads/thread-pages.js';
import { ThreadsResolver } from './threads/threads.resolver.js';

/** Threads, agents, rounds of jobs, and starts of chat jobs. */
@Module({
  imports: [ChatModule, JobsApiModule, JobsModule, LimitsModule],
  controllers: [StartController],
  providers: [
    JobStart,
    RoundLoaders,
    ThreadLoaders,
    ThreadPages,
    AgentMutationsResolver,
    AgentsResolver,
    JobAgentResolver,
    JobRoundsResolver,
    JobThreadResolver,
    MessageFieldsResolver,
    RoundFieldsResolver,
    StartChatResolver,
    ThreadFieldsResolver,
    ThreadsResolver,
  ],
  exports: [ThreadLoaders],
})
export class ChatApiModule {}
