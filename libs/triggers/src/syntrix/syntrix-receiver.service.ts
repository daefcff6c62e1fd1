import { Inject, Injectable } from '@nestjs/common';

import { AppError, Config, LOGGER, type Logger, RateCountersRepository, Secret, systemClock } from '#platform';

import type { LocalTarget } from '../outbound/deliveries/delivery-sender.js';
import { signatureProblem, signatureStyleOf, type SignedRequest } from '../signature.js';
import type { SyntrixDocument } from './syntrix-client.js';
import { SyntrixClients } from './syntrix-clients.service.js';
import type { SyntrixConnection } from './syntrix-connection.js';
import { SyntrixConnectionsRepository } from './syntrix-connections.repository.js';
import { SyntrixDeliveriesRepository } from './syntrix-deliveries.repository.js';
import {
  readDelivery,
  readWebhookPath,
  requestedWork,
  type SyntrixDelivery,
  type SyntrixRoute,
  type SyntrixTarget,
} from './syntrix-delivery.js';
import { referenceOf, SyntrixStarts } from './syntrix-starts.service.js';

/** Where a delivery arrives. */
export interface ReceivedAt extends SyntrixTarget {
  /** Only a connection of this workspace is meant; absent: one of any workspace. */
  readonly workspaceId?: string;
}

/** The reply to a delivery. */
export interface SyntrixReply {
  readonly status: 200 | 400 | 401 | 429 | 500 | 501;
  readonly text: string;
  readonly retryAfterSeconds?: number;
  /** Why the delivery is unauthorized. Only the log of the operator shows it. */
  readonly reason?: string;
}

const ok: SyntrixReply = { status: 200, text: 'OK' };
const ignored: SyntrixReply = { status: 200, text: 'Ignored' };
/** The same reply for an unknown connection, a bad, missing or old signature, and a missing token. */
const unauthorized = (reason: string): SyntrixReply => ({ status: 401, text: 'Unauthorized', reason });
export const unknownConnection = unauthorized('the connection is unknown');
const tooMany: SyntrixReply = { status: 429, text: 'Too Many Requests', retryAfterSeconds: 1 };
const switchedOff: SyntrixReply = { status: 501, text: 'Background jobs are switched off' };
const failed: SyntrixReply = { status: 500, text: 'Internal Server Error' };

const signatureNames = ['webhook-signature', 'x-syntrix-signature'];

/** The connection of a request, and the id of the delivery if the signature covers it or there is none. */
interface Verified {
  readonly connection: SyntrixConnection;
  readonly webhookId: string | undefined;
}

/** After one of these errors the sender may repeat the delivery. */
const busy: ReadonlySet<string> = new Set(['thread_busy', 'job_limit_reached', 'rate_limited', 'start_in_flight']);
const documentReadMs = 10_000;
/** Capacity of the shared counter: the highest `rateLimit` that a connection may have. */
const highestRate = 10_000;

/** Accepts deliveries of Syntrix databases: verifies them, and starts a job for those that ask for work. Never waits for a job. */
@Injectable()
export class SyntrixReceiver {
  /** Deliveries of the current second, by connection. */
  private readonly rate: ReturnType<RateCountersRepository['counter']>;

  constructor(
    private readonly connections: SyntrixConnectionsRepository,
    private readonly clients: SyntrixClients,
    private readonly deliveries: SyntrixDeliveriesRepository,
    private readonly starts: SyntrixStarts,
    private readonly config: Config,
    counters: RateCountersRepository,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.rate = counters.counter('syntrix-deliveries', highestRate, 1);
  }

  /** Returns whether deliveries to it may be read. */
  async isKnown({ connection, workspaceId }: ReceivedAt): Promise<boolean> {
    return (await this.connections.named(connection, workspaceId)).length > 0;
  }

  /** Never rejects. */
  async receive(target: ReceivedAt, request: SignedRequest): Promise<SyntrixReply> {
    const { connection } = target;
    try {
      const found = await this.verified(target, request);
      return 'text' in found ? found : await this.accept(target.route, found, request.body);
    } catch (error) {
      if (error instanceof AppError && busy.has(error.code))
        return { ...tooMany, retryAfterSeconds: error.retryAfterSeconds ?? 1 };
      if (error instanceof AppError && error.code === 'background_jobs_off') return switchedOff;
      this.logger.warn({ err: error, connection }, 'a delivery of a Syntrix database was not accepted');
      return failed;
    }
  }

  /** A delivery of a trigger of this server to a path of its own: verified like any other, for a connection of its workspace. */
  readonly receiveLocally: LocalTarget = async ({ workspaceId, path, headers, body }) => {
    const target = readWebhookPath(path);
    if (target === null) return { status: 404, headers: {}, body: new Uint8Array() };
    const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    const request = { headers: named, body: Buffer.from(body) };
    const { status, text, retryAfterSeconds } = await this.receive({ ...target, workspaceId }, request);
    const retryAfter = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
    return { status, headers: retryAfter, body: Buffer.from(text) };
  };

  /** The connection whose secret signed the request, or the refusal. Throws when none did and a secret could not be read. */
  private async verified(
    { connection: ref, workspaceId }: ReceivedAt,
    request: SignedRequest,
  ): Promise<Verified | SyntrixReply> {
    const candidates = await this.connections.named(ref, workspaceId);
    const webhookId = textOf(request.headers['webhook-id']);
    const toleranceSeconds = this.config.values.TRIGGERS_SIGNATURE_TOLERANCE_SECONDS;
    const options = { now: systemClock.now(), toleranceSeconds };
    const errors: unknown[] = [];
    for (const connection of candidates) {
      const secret = await this.clients.signingSecret(connection).catch((error: unknown) => {
        if (!(error instanceof AppError && error.code === 'secret_missing')) errors.push(error);
        return null;
      });
      const style = secret && signatureStyleOf([secret.reveal()], request, options);
      if (style !== null) return { connection, webhookId: style === 'standard' ? webhookId : undefined };
    }
    if (errors.length > 0) throw errors[0];
    const [only, ...others] = candidates;
    if (only === undefined) return unknownConnection;
    const isUnsigned = !signatureNames.some((name) => request.headers[name] !== undefined);
    const isAllowed = this.config.values.TRIGGERS_ALLOW_UNSIGNED && isUnsigned && others.length === 0;
    if (isAllowed && only.settings.secret === null) return { connection: only, webhookId };
    return unauthorized(isUnsigned ? 'the delivery has no signature' : signatureProblem(request, options));
  }

  private async accept(
    route: SyntrixRoute,
    { connection, webhookId }: Verified,
    body: Uint8Array,
  ): Promise<SyntrixReply> {
    const { auth, toolCollection, rateLimit } = connection.settings;
    const delivery = readDelivery(body, { toolCollection, webhookId });
    if (typeof delivery === 'string') return { status: 400, text: delivery };
    if (auth === 'preissued' && delivery.preIssuedToken === null)
      return unauthorized('the delivery has no pre-issued token');
    const ref = { workspaceId: connection.workspaceId, connectionId: connection.id };
    if (await this.deliveries.isKnown(ref, delivery.key)) return ok;
    if (delivery.event === 'delete') return ignored;
    const mayStart = delivery.document === null || requestedWork(route, delivery, delivery.document) !== null;
    if (mayStart && rateLimit !== null && (await this.isOver(connection.id, rateLimit))) return tooMany;
    const document = delivery.document ?? (await this.read(connection, delivery));
    const work = requestedWork(route, delivery, document);
    if (work === null || document === null) return ignored;
    const token = delivery.preIssuedToken === null ? null : this.starts.seal(connection, delivery.preIssuedToken);
    const reference = referenceOf(delivery, token);
    await this.starts.start(connection, { work, document, reference, deliveryKey: delivery.key });
    return ok;
  }

  /** Counts a delivery that starts a job, or makes a read of the database; all processes together. */
  private async isOver(connectionId: string, limit: number): Promise<boolean> {
    return (await this.rate.add(connectionId, 1)).used > limit;
  }

  private async read(connection: SyntrixConnection, delivery: SyntrixDelivery): Promise<SyntrixDocument | null> {
    const { preIssuedToken, documentPath } = delivery;
    const preIssued = preIssuedToken === null ? null : new Secret(preIssuedToken);
    const client = await this.clients.open(connection, { preIssued, signal: AbortSignal.timeout(documentReadMs) });
    return client.get(documentPath);
  }
}

function textOf(header: SignedRequest['headers'][string]): string | undefined {
  return typeof header === 'string' ? header : undefined;
}
