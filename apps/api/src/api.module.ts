import { type DynamicModule, Module, type Type } from '@nestjs/common';

import { type Auth, AuthModule } from '#auth';
import { ChatModule } from '#chat';
import { JobsModule } from '#jobs';
import { type Platform, PlatformModule } from '#platform';
import { ToolsModule } from '#tools';
import { WorkflowsModule } from '#workflows';

import { ClientToolsApiModule } from './client-tools/client-tools-api.module.js';
import { ErrorFilter } from './errors/error.filter.js';
import { GraphqlModule } from './graphql.module.js';
import { HealthModule } from './health/health.module.js';
import { InterruptsApiModule } from './interrupts/interrupts-api.module.js';
import { JobsApiModule } from './jobs/jobs-api.module.js';
import { NotificationsApiModule } from './notifications/notifications-api.module.js';
import { CompletionsModule } from './openai/completions/completions.module.js';
import { ExecuteModule } from './openai/execute/execute.module.js';
import { OpenAiModelsModule } from './openai/models/openai-models.module.js';
import { OpenApiModule } from './openapi/openapi.module.js';
import { RefusalsModule } from './refusals/refusals.module.js';
import { ToolCallsApiModule } from './tool-calls/tool-calls-api.module.js';
import { ToolQueueApiModule } from './tool-queue/tool-queue-api.module.js';
import { WorkflowsApiModule } from './workflows/workflows-api.module.js';

/** What an API is made of besides its own features. */
export interface ApiParts {
  readonly platform: Platform;
  readonly auth: Auth;
  /** More of the same application, such as the worker's module: one container, so that services are shared. */
  readonly modules: readonly (DynamicModule | Type)[];
}

/** The endpoints. A feature adds its module here. */
@Module({})
export class ApiModule {
  static with({ platform, auth, modules }: ApiParts): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        PlatformModule.with(platform),
        // Opened once by the launcher, so handed in like the platform, and visible to every feature.
        { ...AuthModule.with(auth), global: true },
        JobsModule,
        ToolsModule,
        ChatModule,
        WorkflowsModule,
        ClientToolsApiModule,
        CompletionsModule,
        ExecuteModule,
        HealthModule,
        InterruptsApiModule,
        JobsApiModule,
        NotificationsApiModule,
        OpenAiModelsModule,
        OpenApiModule,
        RefusalsModule,
        ToolCallsApiModule,
        ToolQueueApiModule,
        WorkflowsApiModule,
        GraphqlModule,
        ...modules,
      ],
      providers: [ErrorFilter],
    };
  }
}
