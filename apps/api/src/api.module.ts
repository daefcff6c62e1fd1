import { type DynamicModule, Module, type Type } from '@nestjs/common';

import { type Auth, AuthModule } from '#auth';
import { ChatModule } from '#chat';
import { JobsModule } from '#jobs';
import { type Platform, PlatformModule } from '#platform';
import { ToolsModule } from '#tools';
import { WorkflowsModule } from '#workflows';

import { ErrorFilter } from './errors/error.filter.js';
import { featureModules } from './feature-modules.js';
import { GraphqlModule } from './graphql.module.js';
import { HealthModule } from './health/health.module.js';
import { InterruptInboxModule } from './interrupts/interrupt-inbox.module.js';
import { CompletionsModule } from './openai/completions/completions.module.js';
import { ExecuteModule } from './openai/execute/execute.module.js';
import { OpenAiModelsModule } from './openai/models/openai-models.module.js';
import { OpenApiModule } from './openapi/openapi.module.js';
import { RefusalsModule } from './refusals/refusals.module.js';

/** What an API is made of besides its own features. */
export interface ApiParts {
  readonly platform: Platform;
  readonly auth: Auth;
  /** More of the same application, such as the worker's module: one container, so that services are shared. */
  readonly modules: readonly (DynamicModule | Type)[];
}

/** The endpoints: those of the features, and those that span features. */
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
        CompletionsModule,
        ExecuteModule,
        HealthModule,
        InterruptInboxModule,
        OpenAiModelsModule,
        OpenApiModule,
        RefusalsModule,
        ...featureModules,
        GraphqlModule,
        ...modules,
      ],
      providers: [ErrorFilter],
    };
  }
}
