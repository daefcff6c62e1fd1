import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { GraphQLModule } from '@nestjs/graphql';

import { ApprovalsModule } from '#approvals';
import { ChatModule } from '#chat';
import { IntegrationsModule } from '#integrations';
import { JobsModule } from '#jobs';
import { LimitsModule } from '#jobs/api';
import { ModelsModule } from '#models';
import { LOGGER } from '#platform';
import { ToolQueueModule, ToolsModule } from '#tools';
import { WorkflowsModule } from '#workflows';

import { AgentMutationsResolver } from './agents/agent-mutations.resolver.js';
import { AgentsResolver } from './agents/agents.resolver.js';
import { JobAgentResolver } from './agents/job-agent.resolver.js';
import { ApprovalGrantsResolver } from './approvals/approval-grants.resolver.js';
import { ApprovalPolicyResolver } from './approvals/approval-policy.resolver.js';
import { ClientToolSwitch } from './client-tools/client-tool-switch.js';
import { ClientToolsResolver } from './client-tools/client-tools.resolver.js';
import { ContextFactory } from './graphql/context-factory.js';
import { GraphqlExecutor } from './graphql/documents/graphql-executor.js';
import { apolloOptions } from './graphql/http/apollo-options.js';
import { ExplorerController } from './graphql/http/explorer.controller.js';
import { ExplorerPlugin } from './graphql/http/explorer.plugin.js';
import { GraphqlHttpMiddleware } from './graphql/http/graphql-http.middleware.js';
import { OperationPlugin } from './graphql/http/operation.plugin.js';
import { GraphqlSocketGateway } from './graphql/sockets/graphql-socket.gateway.js';
import { SocketAccess } from './graphql/sockets/socket-access.js';
import { SocketProtocol } from './graphql/sockets/socket-protocol.js';
import { UserSockets } from './graphql/sockets/user-sockets.js';
import { UserSocketsRepository } from './graphql/sockets/user-sockets.repository.js';
import { InterruptActivity } from './interrupts/interrupt-activity.js';
import { InterruptActivityResolver } from './interrupts/interrupt-activity.resolver.js';
import {
  InterruptFieldsResolver,
  JobInterruptsResolver,
  NotificationInterruptResolver,
} from './interrupts/interrupt-fields.resolver.js';
import { InterruptLoaders } from './interrupts/interrupt-loaders.js';
import { InterruptMutationsResolver } from './interrupts/interrupt-mutations.resolver.js';
import { InterruptsResolver } from './interrupts/interrupts.resolver.js';
import { JobEventsResolver } from './jobs/job-events.resolver.js';
import { JobFieldsResolver } from './jobs/job-fields.resolver.js';
import { JobLoaders } from './jobs/job-loaders.js';
import { JobMutationsResolver } from './jobs/job-mutations.resolver.js';
import { JobRetryResolver } from './jobs/job-retry.resolver.js';
import { JobsResolver } from './jobs/jobs.resolver.js';
import { StartChatResolver } from './jobs/start-chat.resolver.js';
import { SubJobsResolver } from './jobs/sub-jobs.resolver.js';
import { WorkspaceActivity } from './jobs/workspace-activity.js';
import { WorkspaceActivityResolver } from './jobs/workspace-activity.resolver.js';
import { McpServersResolver } from './mcp-servers/mcp-servers.resolver.js';
import { NodeResolver } from './node/node.resolver.js';
import { NotificationActivity } from './notifications/notification-activity.js';
import { NotificationActivityResolver } from './notifications/notification-activity.resolver.js';
import { NotificationMutationsResolver } from './notifications/notification-mutations.resolver.js';
import { NotificationsResolver } from './notifications/notifications.resolver.js';
import { NotificationsApiModule } from './notifications/notifications-api.module.js';
import { ModelProvidersResolver } from './providers/model-providers.resolver.js';
import { RefusalsModule } from './refusals/refusals.module.js';
import { JobRoundsResolver, RoundFieldsResolver } from './rounds/job-rounds.resolver.js';
import { RoundLoaders } from './rounds/round-loaders.js';
import { StreamsModule } from './streams/streams.module.js';
import { JobThreadResolver } from './threads/job-thread.resolver.js';
import { MessageFieldsResolver, ThreadFieldsResolver } from './threads/thread-fields.resolver.js';
import { ThreadLoaders } from './threads/thread-loaders.js';
import { ThreadPages } from './threads/thread-pages.js';
import { ThreadsResolver } from './threads/threads.resolver.js';
import { JobToolCallsResolver, ToolCallSubJobResolver } from './tool-calls/job-tool-calls.resolver.js';
import { ToolCallErrorResolver, ToolCallFieldsResolver } from './tool-calls/tool-call-fields.resolver.js';
import { ToolCallLoaders } from './tool-calls/tool-call-loaders.js';
import { ToolCallConnectionResolver, ToolCallsResolver } from './tool-calls/tool-calls.resolver.js';
import { ToolQueueResolver } from './tool-queue/tool-queue.resolver.js';
import { ToolTrialsResolver } from './tools/tool-trials.resolver.js';
import { ToolsResolver } from './tools/tools.resolver.js';
import { WorkspaceSecretsResolver } from './tools/workspace-secrets.resolver.js';
import { WorkspaceToolsResolver } from './tools/workspace-tools.resolver.js';
import { JobWorkflowResolver } from './workflows/job-workflow.resolver.js';
import { JobDiagramResolver, WorkflowDiagramResolver } from './workflows/workflow-diagrams.resolver.js';
import { WorkflowMutationsResolver } from './workflows/workflow-mutations.resolver.js';
import { WorkflowSchedulesResolver } from './workflows/workflow-schedules.resolver.js';
import { WorkflowStartsResolver } from './workflows/workflow-starts.resolver.js';
import { WorkflowsResolver, WorkflowVersionFieldsResolver } from './workflows/workflows.resolver.js';
import { InvitationsResolver } from './workspaces/invitations.resolver.js';
import { MembersResolver } from './workspaces/members.resolver.js';
import { OutboundHostsResolver } from './workspaces/outbound-hosts.resolver.js';
import { WorkspacesResolver } from './workspaces/workspaces.resolver.js';

/** Everything the schema is made from. */
export const graphqlResolvers = [
  AgentMutationsResolver,
  AgentsResolver,
  ApprovalGrantsResolver,
  ApprovalPolicyResolver,
  ClientToolsResolver,
  InterruptActivityResolver,
  InterruptFieldsResolver,
  InterruptMutationsResolver,
  InterruptsResolver,
  JobAgentResolver,
  JobDiagramResolver,
  JobEventsResolver,
  JobFieldsResolver,
  JobInterruptsResolver,
  NotificationInterruptResolver,
  JobRoundsResolver,
  SubJobsResolver,
  JobMutationsResolver,
  JobRetryResolver,
  StartChatResolver,
  JobWorkflowResolver,
  JobsResolver,
  McpServersResolver,
  InvitationsResolver,
  MembersResolver,
  MessageFieldsResolver,
  ModelProvidersResolver,
  NodeResolver,
  NotificationActivityResolver,
  NotificationMutationsResolver,
  NotificationsResolver,
  JobThreadResolver,
  JobToolCallsResolver,
  OutboundHostsResolver,
  RoundFieldsResolver,
  ThreadFieldsResolver,
  ThreadsResolver,
  ToolCallConnectionResolver,
  ToolCallSubJobResolver,
  ToolCallErrorResolver,
  ToolCallFieldsResolver,
  ToolCallsResolver,
  ToolQueueResolver,
  ToolTrialsResolver,
  ToolsResolver,
  WorkflowDiagramResolver,
  WorkflowMutationsResolver,
  WorkflowSchedulesResolver,
  WorkflowStartsResolver,
  WorkflowVersionFieldsResolver,
  WorkflowsResolver,
  WorkspaceActivityResolver,
  WorkspaceSecretsResolver,
  WorkspaceToolsResolver,
  WorkspacesResolver,
];

/** GraphQL over HTTP (Apollo Server) and WebSocket (graphql-ws). Expects the platform and `AuthModule` to be global. */
@Module({
  imports: [
    GraphQLModule.forRootAsync<ApolloDriverConfig>({
      driver: ApolloDriver,
      inject: [LOGGER],
      useFactory: apolloOptions,
    }),
    ApprovalsModule,
    ChatModule,
    IntegrationsModule,
    JobsModule,
    LimitsModule,
    ModelsModule,
    NotificationsApiModule,
    RefusalsModule,
    StreamsModule,
    ToolQueueModule,
    ToolsModule,
    WorkflowsModule,
  ],
  controllers: [ExplorerController],
  providers: [
    ClientToolSwitch,
    ContextFactory,
    ExplorerPlugin,
    GraphqlExecutor,
    GraphqlHttpMiddleware,
    GraphqlSocketGateway,
    InterruptActivity,
    InterruptLoaders,
    JobLoaders,
    RoundLoaders,
    ThreadLoaders,
    ToolCallLoaders,
    NotificationActivity,
    OperationPlugin,
    SocketAccess,
    SocketProtocol,
    UserSockets,
    UserSocketsRepository,
    ThreadPages,
    WorkspaceActivity,
    ...graphqlResolvers,
  ],
})
export class GraphqlModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(GraphqlHttpMiddleware).forRoutes('graphql');
  }
}
