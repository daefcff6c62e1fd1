import { Inject, Injectable } from '@nestjs/common';
import type { PluginLogger, WorkContext, WorkspaceFiles } from '@nightshift/plugin';

import { PrincipalsRepository } from '#auth';
import { AppError, GuardedFetch, LOGGER, type Logger, Redactor, type Secret } from '#platform';

import type { FileOutbox } from './file-outbox.js';
import { ToolFiles } from './tool-files.js';

/** The secrets and hosts of a workspace, for plugins. A higher lib implements the interface and registers itself while the process boots. */
export interface PluginWorkspaces {
  /** Returns the secrets with these names that are set. */
  secretsOf(workspaceId: string, names: readonly string[]): Promise<ReadonlyMap<string, Secret>>;
  /** The hosts that its tools may call; empty: any public host. */
  hostsOf(workspaceId: string): Promise<readonly string[]>;
}

/** The plugin that receives the context. */
interface Manifest {
  readonly name: string;
  readonly secrets: readonly string[];
}

/** The services that only the code of plugins receives. */
export type PluginServices = Pick<WorkContext, 'secrets' | 'fetch' | 'logger' | 'files'>;

/** The user for whom plugin code runs, and to whom the files that it stores belong. `userId` null: the system. */
export interface PluginUser {
  readonly workspaceId: string;
  readonly userId: string | null;
}

/** Makes the services that the code of plugins receives, besides the ids of its work. */
@Injectable()
export class PluginContexts {
  private workspaces: PluginWorkspaces | null = null;

  constructor(
    private readonly guarded: GuardedFetch,
    private readonly redactor: Redactor,
    private readonly principals: PrincipalsRepository,
    private readonly files: ToolFiles,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Called once, while the process boots. */
  use(workspaces: PluginWorkspaces): void {
    this.workspaces = workspaces;
  }

  /** `ids` are part of each log line. */
  servicesFor(plugin: Manifest, user: PluginUser, ids: Readonly<Record<string, unknown>>): PluginServices {
    const { workspaceId } = user;
    return {
      secrets: { get: (name) => this.secret(plugin, workspaceId, name) },
      fetch: async (input, init) => {
        const hosts = (await this.workspaces?.hostsOf(workspaceId)) ?? [];
        return this.guarded.fetchWith({ hosts })(input, init);
      },
      logger: pluginLogger(this.logger.child({ plugin: plugin.name, workspaceId, ...ids })),
      files: this.filesOf(user),
    };
  }

  filesOf(user: PluginUser): WorkspaceFiles {
    return this.files.of(user);
  }

  /** Collects the artifacts of one call; null: this process stores artifacts itself. */
  outbox(): FileOutbox | null {
    return this.files.outbox();
  }

  /** The person behind a principal; null: the system, or a person who is no longer a member. */
  async userIdOf(workspaceId: string, principal: string): Promise<string | null> {
    return (await this.principals.find(workspaceId, principal))?.userId ?? null;
  }

  private async secret({ name: plugin, secrets }: Manifest, workspaceId: string, name: string): Promise<string> {
    if (!secrets.includes(name))
      throw secretRefused(
        `the plugin "${plugin}" does not name the secret "${name}" in its manifest: add it to definePlugin({ secrets })`,
      );
    const value = (await this.workspaces?.secretsOf(workspaceId, [name]))?.get(name);
    if (value === undefined)
      throw secretRefused(`the secret "${name}" is not set in this workspace: an admin can set it`);
    this.redactor.keep(value, workspaceId);
    return value.reveal();
  }
}

/** The model reads the message. */
function secretRefused(message: string): AppError {
  return new AppError({ code: 'secret_missing', message });
}

/** A logger with the methods that plugins may use. */
export function pluginLogger(logger: Logger): PluginLogger {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error'): PluginLogger['info'] =>
    (details, message) => {
      if (typeof details === 'string') logger[level](details);
      else logger[level]({ details }, message);
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}
