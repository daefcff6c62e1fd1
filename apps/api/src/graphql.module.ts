import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { GraphQLModule } from '@nestjs/graphql';

import { ResolverGuard } from '#auth/api';
import { LOGGER } from '#platform';

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
import { RefusalsModule } from './refusals/refusals.module.js';
import { StreamsModule } from './streams/streams.module.js';

/**
 * GraphQL over HTTP (Apollo Server) and WebSocket (graphql-ws). Expects the platform and `AuthModule` to be global. The resolvers are
 * providers of the features' API modules.
 */
@Module({
  imports: [
    GraphQLModule.forRootAsync<ApolloDriverConfig>({
      driver: ApolloDriver,
      inject: [LOGGER],
      useFactory: apolloOptions,
    }),
    RefusalsModule,
    StreamsModule,
  ],
  controllers: [ExplorerController],
  providers: [
    { provide: APP_GUARD, useClass: ResolverGuard },
    ContextFactory,
    ExplorerPlugin,
    GraphqlExecutor,
    GraphqlHttpMiddleware,
    GraphqlSocketGateway,
    OperationPlugin,
    SocketAccess,
    SocketProtocol,
    UserSockets,
    UserSocketsRepository,
  ],
})
export class GraphqlModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(GraphqlHttpMiddleware).forRoutes('graphql');
  }
}
