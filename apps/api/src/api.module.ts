import { type DynamicModule, Module, type Type } from '@nestjs/common';

import { type Auth, AuthModule } from '#auth';
import { ChatModule } from '#chat';
import { JobsModule } from '#jobs';
import { type Platform, PlatformModule } from '#platform';
import { ToolsModule } from '#tools';
import { WorkflowsModule } from '#workflows';

import { ClientToolsDoorModule } from './client-tools/client-tools-door.module.js';
import { ErrorFilter } from './errors/error.filter.js';
import { GraphqlModule } from './graphql.module.js';
import { HealthModule } from './health/health.module.js';
import { InterruptsDoorModule } from './interrupts/interrupts-door.module.js';
import { JobsDoorModule } from './jobs/jobs-door.module.js';
import { NotificationsDoorModule } from './notifications/notifications-door.module.js';
import { CompletionsModule } from './openai/completions/completions.module.js';
import { ExecuteModule } from './openai/execute/execute.module.js';
import { OpenAiModelsModule } from './openai/models/openai-models.module.js';
import { OpenApiModule } from './openapi/openapi.module.js';
import { ToolCallsDoorModule } from './tool-calls/tool-calls-door.module.js';
import { ToolQueueDoorModule } from './tool-queue/tool-queue-door.module.js';
import { WorkflowsDoorModule } from './workflows/workflows-door.module.js';

/** What an API is made of besides its own features. */
export interface ApiParts {
  readonly platform: Platform;
  readonly auth: Auth;
  /** More of the same application, such as the worker's module: one container, so that services are shared. */
  readonly modules: readonly (DynamicModule | Type)[];
}

/** The doors. A feature adds its module here. */
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
        ClientToolsDoorModule,
        CompletionsModule,
        ExecuteModule,
        HealthModule,
        InterruptsDoorModule,
        JobsDoorModule,
        NotificationsDoorModule,
        OpenAiModelsModule,
        OpenApiModule,
        ToolCallsDoorModule,
        ToolQueueDoorModule,
        WorkflowsDoorModule,
        GraphqlModule,
        ...modules,
      ],
      providers: [ErrorFilter],
    };
  }
}
