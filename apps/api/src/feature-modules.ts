import type { Type } from '@nestjs/common';

import { ApprovalsApiModule, ClientToolsApiModule, InterruptsApiModule } from '#approvals/api';
import { WorkspacesApiModule } from '#auth/api';
import { ChatApiModule } from '#chat/api';
import { IntegrationsApiModule } from '#integrations/api';
import { JobsApiModule, NotificationsApiModule } from '#jobs/api';
import { ModelProvidersApiModule } from '#models/api';
import { ToolCallsApiModule, ToolQueueApiModule, ToolsApiModule } from '#tools/api';
import { WorkflowsApiModule } from '#workflows/api';

import { JobViewsModule } from './jobs/job-views.module.js';
import { NodeModule } from './node/node.module.js';

/** The resolvers and controllers of the features. A feature adds its API module here. */
export const featureModules: readonly Type[] = [
  ApprovalsApiModule,
  ChatApiModule,
  ClientToolsApiModule,
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
  WorkflowsApiModule,
  WorkspacesApiModule,
];

/** Where `@Resolver()` marks a class; @nestjs/graphql exports no name for it. */
const resolverKey = 'graphql:resolver_type';

/** Every class that the GraphQL schema is made from. */
export const graphqlResolvers: readonly Type[] = featureModules
  .flatMap((feature) => Reflect.getMetadata('providers', feature) as readonly Type[]) // `@Module` stores what it was given
  .filter((provider) => Reflect.hasMetadata(resolverKey, provider));
