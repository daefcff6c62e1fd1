import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The key that the server accepts. */
export const s3Key = {
  accessKeyId: 'AKIATEST',
  secretAccessKey: 'the secret key of the test bucket',
  region: 'eu-test-1',
};

/** A bucket over HTTP that verifies signatures (AWS Signature Version 4) by its own computation. */
export interface S3Server {
  /** The URL of the bucket. */
  readonly url: string;
  readonly objects: ReadonlyMap<string, Buffer>;
  /** Reasons of refused requests. */
  readonly refusals: readonly string[];
  /** Number of requests so far. */
  readonly requests: number;
  /** Every request is answered with this status, until null is set. */
  failWith: number | null;
  /** False: as for a key without `s3:ListBucket`, the response about an absent object is 403 instead of 404. */
  mayList: boolean;
  /** The next PUT ends with a broken connection: while its body is read, or after the object was stored. */
  breakNextPut: 'in-body' | 'before-response' | null;
  /** Awaited before the response about a stored object. */
  afterPut: (() => Promise<unknown>) | null;
  /** Awaited before an object is deleted. */
  beforeDelete: (() => Promise<unknown>) | null;
  close(): Promise<void>;
}

export async function startS3Server(): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const refusals: string[] = [];
  const state: Pick<S3Server, 'failWith' | 'mayList' | 'breakNextPut' | 'afterPut' | 'beforeDelete'> & {
    requests: number;
  } = {
    ...{ failWith: null, mayList: true, breakNextPut: null, afterPut: null, beforeDelete: null },
    requests: 0,
  };
  const respond = async (request: IncomingMessage): Promise<Served | 'broken'> => {
    const broken = request.method === 'PUT' ? state.breakNextPut : null;
    if (broken !== null) state.breakNextPut = null;
    if (broken === 'in-body') {
      await once(request, 'data');
      return 'broken';
    }
    const body = await bodyOf(request);
    const problem = signatureProblem(request, body);
    if (problem !== null) refusals.push(problem);
    if (state.failWith !== null) return { status: state.failWith };
    if (problem !== null) return { status: 403 };
    if (request.method === 'DELETE') await state.beforeDelete?.();
    const served = serve(objects, request, body);
    if (request.method === 'PUT') await state.afterPut?.();
    if (broken === 'before-response') return 'broken';
    return served.status === 404 && !state.mayList ? { status: 403 } : served;
  };
  const server: Server = createServer((request, response) => {
    state.requests += 1;
    void (async () => {
      const served = await respond(request);
      if (served === 'broken') request.socket.destroy();
      else response.writeHead(served.status).end(served.bytes);
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return Object.assign(state, {
    url: `http://127.0.0.1:${port}/bucket`,
    objects,
    refusals,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

interface Served {
  readonly status: number;
  readonly bytes?: Buffer;
}

function serve(objects: Map<string, Buffer>, { method, url = '', headers }: IncomingMessage, body: Buffer): Served {
  if (method === 'PUT') {
    objects.set(url, body);
    return { status: 200 };
  }
  if (method === 'DELETE') {
    objects.delete(url);
    return { status: 204 };
  }
  const object = objects.get(url);
  if (object === undefined) return { status: 404 };
  if (method === 'HEAD') return { status: 200 };
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
  return { status: 206, bytes: object.subarray(Number(from), Number(to) + 1) };
}

/** Why the signature is wrong; null: it is right. */
function signatureProblem({ method = '', url = '', headers }: IncomingMessage, body: Buffer): string | null {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
  const [, keyId, day = '', region, signed = '', signature] = pattern.exec(headers.authorization ?? '') ?? [];
  if (keyId !== s3Key.accessKeyId || region !== s3Key.region) return 'no signature with this key';
  const names = signed.split(';');
  for (const name of ['host', 'x-amz-date', 'x-amz-content-sha256'])
    if (!names.includes(name)) return `${name} is not signed`;
  if (headers['x-amz-content-sha256'] !== sha256(body)) return 'the hash is not that of the body';
  const time = String(headers['x-amz-date']);
  const path = url.split('?', 1)[0] ?? '';
  const lines = names.map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, ' ')}\n`);
  const canonical = [method, path, '', lines.join(''), signed, sha256(body)].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<Buffer | string>(hmac, `AWS4${s3Key.secretAccessKey}`);
  return hmac(key, toSign).toString('hex') === signature ? null : 'the signature does not match';
}

const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest('hex');
const hmac = (key: Buffer | string, data: string) => createHmac('sha256', key).update(data).digest();
