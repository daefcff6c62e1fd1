// Writes apps/api/schema.gql from the built resolvers. A spec compares the two; run `npm run schema` when it is red.
import 'reflect-metadata';

import { writeFileSync } from 'node:fs';

import { NestFactory } from '@nestjs/core';
import { GraphQLSchemaBuilderModule, GraphQLSchemaFactory } from '@nestjs/graphql';

const { graphqlResolvers } = await import('../dist/apps/api/src/api.module.js');
const { toSchemaFile } = await import('../dist/apps/api/src/graphql/schema-file.js');
const app = await NestFactory.createApplicationContext(GraphQLSchemaBuilderModule, { logger: false });
writeFileSync('apps/api/schema.gql', toSchemaFile(await app.get(GraphQLSchemaFactory).create([...graphqlResolvers])));
await app.close();
