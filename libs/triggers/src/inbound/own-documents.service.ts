import { Injectable } from '@nestjs/common';

import { abilityOf, asSubject, type MemberPrincipal, PrincipalsRepository, scopeOf, unauthenticated } from '#auth';
import { AppError, isId, type PrismaTransaction, toStorable } from '#platform';

import { PreIssuedTokens, type TokenScope } from '../outbound/pre-issued-tokens.js';
import {
  type DocumentFilter,
  type DocumentPosition,
  type OwnCollection,
  type OwnDocument,
  OwnDocumentsRepository,
} from './own-documents.repository.js';
import { TriggersRepository } from './triggers.repository.js';

/** The bearer of a token that came with a delivery: the member or key that saved the trigger. */
export interface TokenBearer {
  readonly principal: MemberPrincipal;
  readonly scope: TokenScope;
}

/** A page of documents as a client asks for it. */
export interface OwnQuery {
  readonly collection: string;
  readonly filters: readonly DocumentFilter[];
  readonly isDescending: boolean;
  readonly limit: number;
  /** The `nextCursor` of the page before. */
  readonly startAfter: string | null;
}

/** The own rows of a thread, for receivers of deliveries: with the rights that the member who saved the trigger has now. */
@Injectable()
export class OwnDocuments {
  constructor(
    private readonly tokens: PreIssuedTokens,
    private readonly triggers: TriggersRepository,
    private readonly principals: PrincipalsRepository,
    private readonly documents: OwnDocumentsRepository,
  ) {}

  /** Throws `unauthenticated` for an invalid token: it expired, or its trigger was deleted, disabled or changed. */
  async enter(token: string): Promise<TokenBearer> {
    const scope = this.tokens.open(token);
    if (scope === null) throw unauthenticated();
    const { workspaceId, triggerId: id, database } = scope;
    const trigger = await this.documents.inWorkspace(workspaceId, (tx) =>
      this.triggers.findEnabled(tx, { workspaceId, id }),
    );
    const isValid = trigger?.definition.issueToken === true && trigger.definition.database === database;
    const principal = isValid ? await this.principals.find(workspaceId, trigger.savedBy) : null;
    if (principal === null) throw unauthenticated();
    return { principal, scope };
  }

  /** Returns the documents that exist. Throws `forbidden`, `too_large`. */
  async get({ principal, scope }: TokenBearer, database: string, paths: readonly string[]): Promise<OwnDocument[]> {
    assertDatabase(scope, database);
    const wanted = paths.map((path) => {
      const end = path.lastIndexOf('/');
      return { collection: collectionOf(scope, path.slice(0, Math.max(end, 0))), id: path.slice(end + 1) };
    });
    return this.read(principal, scope, async (tx) => {
      const found: OwnDocument[] = [];
      for (const [, same] of Map.groupBy(wanted, ({ collection }) => collection.kind)) {
        const ids = same.map(({ id }) => id).filter(isId);
        if (same[0] !== undefined) found.push(...(await this.documents.get(tx, same[0].collection, ids)));
      }
      return found;
    });
  }

  /** Throws `forbidden`, `bad_request`. */
  async query(
    { principal, scope }: TokenBearer,
    database: string,
    { collection: path, filters, isDescending, limit, startAfter }: OwnQuery,
  ): Promise<{ readonly documents: readonly OwnDocument[]; readonly nextCursor?: string }> {
    assertDatabase(scope, database);
    const collection = collectionOf(scope, path);
    const after = startAfter === null ? null : positionOf(startAfter);
    const stored = toStorable(filters) as unknown as readonly DocumentFilter[]; // the same shape; only texts are normalized
    const query = { filters: stored, isDescending, after, take: limit + 1 };
    const rows = await this.read(principal, scope, (tx) => this.documents.query(tx, collection, query));
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      documents: page.map(({ document }) => document),
      ...(last?.hasMore === true ? { nextCursor: toCursor([last.at, last.tie]) } : {}),
    };
  }

  private read<T>(
    principal: MemberPrincipal,
    { workspaceId, threadId }: TokenScope,
    work: (tx: PrismaTransaction) => Promise<T>,
  ): Promise<T> {
    const ability = abilityOf(principal);
    const mayRead =
      ability.can('manage', asSubject('Trigger', { workspaceId })) &&
      ability.can('survey', asSubject('ToolCall', { workspaceId })) &&
      ability.can('read', asSubject('Message', { workspaceId }));
    if (!mayRead) throw forbidden('The member who saved the trigger may not read these documents any more.');
    return this.documents.inWorkspace(workspaceId, async (tx) => {
      const isThere = await this.documents.hasThread(tx, scopeOf(principal), threadId);
      if (!isThere) throw forbidden('The thread of the token does not exist any more.');
      return work(tx);
    });
  }
}

function assertDatabase({ database }: TokenScope, given: string): void {
  if (given !== database) throw forbidden(`The token is for the database ${database}.`);
}

function collectionOf({ workspaceId, threadId }: TokenScope, path: string): OwnCollection {
  const root = `threads/${threadId}`;
  const place = { workspaceId, threadId };
  if (path === `${root}/messages`) return { ...place, kind: 'messages' };
  if (path === `${root}/tool-calls`) return { ...place, kind: 'tool-calls' };
  if (path === 'jobs') return { ...place, kind: 'jobs' };
  throw forbidden(`The token opens the collections ${root}/messages, ${root}/tool-calls, and the jobs of this thread.`);
}

function toCursor(position: DocumentPosition): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

function positionOf(cursor: string): DocumentPosition {
  const text = Buffer.from(cursor, 'base64url').toString();
  const [, at, tie] = /^\[(\d{1,15}),"([0-9a-f-]{1,36})"\]$/.exec(text) ?? [];
  if (at === undefined || tie === undefined)
    throw new AppError({ code: 'bad_request', message: 'startAfter is not a nextCursor', field: 'startAfter' });
  return [Number(at), tie];
}

function forbidden(message: string): AppError {
  return new AppError({ code: 'forbidden', message });
}
