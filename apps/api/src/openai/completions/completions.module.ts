import { Module } from '@nestjs/common';

import { ChatModule } from '#chat';
import { JobsModule } from '#jobs';
import { LimitsModule } from '#jobs/api';
import { ToolsModule } from '#tools';
import { WorkflowsModule } from '#workflows';

import { StreamsModule } from '../../streams/streams.module.js';
import { OpenAiModelsModule } from '../models/openai-models.module.js';
import { AgentToolNames } from './agent-tool-names.js';
import { AnswerContext } from './answer-context.js';
import { AnswerLimiters } from './answer-limiters.js';
import { AnswerServer } from './answer-server.js';
import { AnswerStarts } from './answer-starts.js';
import { CompletionEndpoint } from './completion-endpoint.js';
import { CompletionsController } from './completions.controller.js';
import { Completions } from './completions.service.js';
import { NewAnswers } from './new-answers.js';
import { Situations } from './situations.js';
import { SubJobInterrupts } from './sub-job-interrupts.js';

/** `POST /v1/chat/completions`. */
@Module({
  imports: [ChatModule, JobsModule, LimitsModule, OpenAiModelsModule, StreamsModule, ToolsModule, WorkflowsModule],
  controllers: [CompletionsController],
  providers: [
    AgentToolNames,
    AnswerContext,
    AnswerLimiters,
    AnswerServer,
    AnswerStarts,
    CompletionEndpoint,
    Completions,
    NewAnswers,
    SubJobInterrupts,
    Situations,
  ],
})
export class CompletionsModule {}
