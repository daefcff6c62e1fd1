import { type DynamicModule, Module } from '@nestjs/common';

import { BUS, type Bus } from './bus/bus.js';
import { MemoryBus } from './bus/memory.bus.js';
import { PostgresBus } from './bus/postgres.bus.js';
import { Config, queuesServed } from './config/config.js';
import { LOGGER, type Logger } from './logger.js';
import { Metrics } from './metrics/metrics.js';
import { GuardedFetch } from './outbound/guarded-fetch.js';
import type { DatabaseUrls } from './postgres/database-urls.js';
import { Postgres, type PostgresOptions, TOOL_PROCESS_CONNECTIONS } from './postgres/postgres.js';
import { PrismaService } from './prisma/prisma.service.js';
import { Queues } from './queue/queues.js';
import { RateCountersRepository } from './rates/rate-counters.repository.js';
import { type HeldSecrets, rootBox, toolBox, ToolSecretBox } from './secrets/installation-secret.js';
import { Redactor } from './secrets/redactor.js';
import { SecretBox } from './secrets/secret-box.js';
import { TextsInMemory } from './texts-in-memory.js';

/** The resources of a process, created once and shared by its applications. */
export interface Platform {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly postgres: Postgres;
  readonly prisma: PrismaService;
  readonly bus: Bus;
  readonly queues: Queues;
  readonly secretBox: SecretBox;
  readonly toolSecretBox: ToolSecretBox;
  readonly redactor: Redactor;
  /** The client for servers that tenants chose. */
  readonly guardedFetch: GuardedFetch;
  /** Stops queues and bus, then closes the pools. */
  close(): Promise<void>;
}

/** The values that the launcher provides. */
export interface PlatformInit {
  readonly config: Config;
  readonly logger: Logger;
  readonly redactor: Redactor;
  readonly urls: DatabaseUrls;
  /** NIGHTSHIFT_SECRET, from the environment or generated. */
  readonly secret: string;
  /** Earlier secrets of the installation, which still open values that they sealed. */
  readonly previousSecrets?: readonly string[];
}

/** The values for an isolated tool process: the login and the key of tool processes instead of the secret. */
export interface ToolPlatformInit extends Pick<PlatformInit, 'config' | 'logger' | 'redactor'> {
  /** The URL of the login `nightshift_tools`. */
  readonly databaseUrl: string;
  /** NIGHTSHIFT_TOOLS_KEY. */
  readonly toolsKey: string;
  /** Earlier keys, which still open values that they sealed. */
  readonly previousToolsKeys?: readonly string[];
}

/** Opens the pools and the bus. The bus is in memory if one process has all roles, unless BUS sets another. */
export async function openPlatform(init: PlatformInit): Promise<Platform> {
  const { urls, secret, previousSecrets = [] } = init;
  return assemble(init, {
    postgres: Postgres.connect(urls, poolOptions(init)),
    busUrl: urls.worker,
    held: { kind: 'root', secret, previous: previousSecrets },
  });
}

/** The same with the login and the key of tool processes. Its `secretBox` opens nothing. */
export async function openToolPlatform(init: ToolPlatformInit): Promise<Platform> {
  const { databaseUrl, toolsKey, previousToolsKeys = [] } = init;
  return assemble(init, {
    postgres: Postgres.connectToolProcess(databaseUrl, poolOptions(init)),
    busUrl: databaseUrl,
    held: { kind: 'tools', toolsKey, previous: previousToolsKeys },
  });
}

type Surroundings = Pick<PlatformInit, 'config' | 'logger' | 'redactor'>;

function poolOptions({ config, logger }: Surroundings): PostgresOptions {
  return {
    poolSize: config.values.DATABASE_POOL_SIZE,
    ...(queuesServed(config.values).includes('tool-execution') ? { applicationName: TOOL_PROCESS_CONNECTIONS } : {}),
    onIdleError: (error) => {
      logger.warn({ err: error }, 'an idle database connection broke');
    },
  };
}

interface Access {
  readonly postgres: Postgres;
  readonly busUrl: string;
  readonly held: HeldSecrets;
}

async function assemble({ config, logger, redactor }: Surroundings, access: Access): Promise<Platform> {
  const { postgres, busUrl, held } = access;
  const prisma = await PrismaService.open(postgres);
  const kind = config.values.BUS ?? (config.values.ROLE === 'all' ? 'memory' : 'postgres');
  const bus = kind === 'memory' ? new MemoryBus({ logger }) : new PostgresBus({ url: busUrl, logger });
  await bus.start();
  const guardedFetch = GuardedFetch.from(config);
  const metrics = new Metrics();
  const queues = new Queues({ config, logger, metrics, postgres });
  return {
    config,
    logger,
    redactor,
    metrics,
    postgres,
    prisma,
    bus,
    queues,
    secretBox: rootBox(held),
    toolSecretBox: toolBox(held),
    guardedFetch,
    close: async () => {
      await guardedFetch.close();
      await queues.stop();
      await bus.stop();
      await prisma.close();
      await postgres.close();
    },
  };
}

/** Provides the open resources to Nest, under their own types. */
@Module({})
export class PlatformModule {
  static with(platform: Platform): DynamicModule {
    const providers = [
      { provide: Config, useValue: platform.config },
      { provide: LOGGER, useValue: platform.logger },
      { provide: Metrics, useValue: platform.metrics },
      { provide: Postgres, useValue: platform.postgres },
      { provide: PrismaService, useValue: platform.prisma },
      { provide: BUS, useValue: platform.bus },
      { provide: Queues, useValue: platform.queues },
      { provide: SecretBox, useValue: platform.secretBox },
      { provide: ToolSecretBox, useValue: platform.toolSecretBox },
      { provide: Redactor, useValue: platform.redactor },
      { provide: GuardedFetch, useValue: platform.guardedFetch },
      RateCountersRepository,
      TextsInMemory,
    ];
    return { module: PlatformModule, global: true, providers, exports: providers };
  }
}
