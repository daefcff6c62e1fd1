import { type DynamicModule, Module, type Type } from '@nestjs/common';

import { ApprovalsApiModule, ClientToolsApiModule, InterruptsApiModule } from '#approvals/api';
import { type Auth, AuthModule } from '#auth';
import { FeatureFlagsApiModule, WorkspacesApiModule } from '#auth/api';
import { ChatModule } from '#chat';
import { ChatApiModule } from '#chat/api';
import { FilesApiModule } from '#files/api';
import { IntegrationsApiModule } from '#integrations/api';
import { JobsModule } from '#jobs';
import { JobsApiModule, NotificationsApiModule } from '#jobs/api';
import { ModelProvidersApiModule } from '#models/api';
import { type Platform, PlatformModule } from '#platform';
import { SchedulesApiModule } from '#schedules/api';
import { ToolsModule } from '#tools';
import { ToolCallsApiModule, ToolQueueApiModule, ToolsApiModule } from '#tools/api';
import { TriggersApiModule } from '#triggers/api';
import { WorkflowsModule } from '#workflows';
import { WorkflowsApiModule } from '#workflows/api';

import { ErrorFilter } from './errors/error.filter.js';
import { GraphqlModule } from './graphql.module.js';
import { HealthModule } from './health/health.module.js';
import { InterruptInboxModule } from './interrupts/interrupt-inbox.module.js';
import { JobViewsModule } from './jobs/job-views.module.js';
import { NodeModule } from './node/node.module.js';
import { CompletionsModule } from './openai/completions/completions.module.js';
import { ExecuteModule } from './openai/execute/execute.module.js';
import { OpenAiModelsModule } from './openai/models/openai-models.module.js';
import { OpenApiModule } from './openapi/openapi.module.js';
import { RefusalsModule } from './refusals/refusals.module.js';

/** The resolvers and controllers of the features. A feature adds its API module here. */
const featureModules: readonly Type[] = [
  ApprovalsApiModule,
  ChatApiModule,
  ClientToolsApiModule,
  FeatureFlagsApiModule,
  FilesApiModule,
  IntegrationsApiModule,
  InterruptsApiModule,
  JobsApiModule,
  JobViewsModule,
  ModelProvidersApiModule,
  NodeModule,
  NotificationsApiModule,
  ToolCallsApiModule,
  ToolQueueApiModule,
  ToolsApiModule,
  SchedulesApiModule,
  TriggersApiModule,
  WorkflowsApiModule,
  WorkspacesApiModule,
];

/** Where `@Resolver()` marks a class; @nestjs/graphql exports no name for it. */
const resolverKey = 'graphql:resolver_type';

/** Every class that the GraphQL schema is made from. */
export const graphqlResolvers: readonly Type[] = featureModules
  .flatMap((feature) => (Reflect.getMetadata('providers', feature) ?? []) as readonly Type[]) // `@Module` stores what it was given
  .filter((provider) => Reflect.hasMetadata(resolverKey, provider));

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
