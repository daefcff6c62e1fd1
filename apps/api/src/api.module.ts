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

/** The metadata key by which `@Resolver()` marks a class; @nestjs/graphql exports no name for it. */
const resolverKey = 'graphql:resolver_type';

/** The resolver classes from which the GraphQL schema is built. */
export const graphqlResolvers: readonly Type[] = featureModules
  .flatMap((feature) => (Reflect.getMetadata('providers', feature) ?? []) as readonly Type[]) // `@Module` stores this list
  .filter((provider) => Reflect.hasMetadata(resolverKey, provider));

/** The parts of an API application besides the API modules of the features. */
export interface ApiParts {
  readonly platform: Platform;
  readonly auth: Auth;
  /** More modules for the same application, such as the worker's: one container, so that they share services. */
  readonly modules: readonly (DynamicModule | Type)[];
}

/** All endpoints: those of single features, and those that span features. */
@Module({})
export class ApiModule {
  static with({ platform, auth, modules }: ApiParts): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        PlatformModule.with(platform),
        // The launcher opens auth once and passes it in, like the platform; `global` makes it visible to every feature.
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
