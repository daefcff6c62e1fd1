import { AwsV4Signer } from 'aws4fetch';

import { defined, type GuardedFetch, type OutboundResponse, type Secret } from '#platform';

import { fileNotFound, storeUnavailable } from './file-store.errors.js';
import type { ByteRange, FileContent, FilePlace, FileStore } from './file-store.js';

/** A bucket of S3, or of a server that speaks its protocol. */
export interface S3Bucket {
  /** The URL of the bucket, in path style or with the bucket as the host. */
  readonly url: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
}

interface S3Request {
  readonly method: 'PUT' | 'GET' | 'HEAD' | 'DELETE';
  readonly place: FilePlace;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly maxBytes?: number;
}

/** SHA-256 of nothing. */
const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const timeouts = { firstByteMs: 30_000, idleMs: 30_000, totalMs: 120_000 };

/** The store in a bucket. An object is `<workspace id>/<file id>`. Requests are signed with AWS Signature Version 4. */
export class S3FileStore implements FileStore {
  constructor(
    private readonly bucket: S3Bucket,
    private readonly client: GuardedFetch,
  ) {}

  async put(place: FilePlace, { content, hash }: FileContent): Promise<void> {
    const answer = await this.send({ method: 'PUT', place, headers: { 'x-amz-content-sha256': hash }, body: content });
    if (answer.status !== 200) throw refused(answer);
  }

  async read(place: FilePlace, { start, end }: ByteRange): Promise<Uint8Array> {
    const headers = { range: `bytes=${start}-${end - 1}` };
    const answer = await this.send({ method: 'GET', place, headers, maxBytes: end - start });
    if (answer.status === 404) throw fileNotFound();
    if (answer.status !== 206 || answer.isCut || answer.body.length !== end - start) throw refused(answer);
    return answer.body;
  }

  /** S3 responds with 403 about an absent object to a key without `s3:ListBucket`. If the key is wrong, the `put` that follows fails. */
  async has(place: FilePlace): Promise<boolean> {
    const answer = await this.send({ method: 'HEAD', place });
    if (answer.status !== 200 && answer.status !== 404 && answer.status !== 403) throw refused(answer);
    return answer.status === 200;
  }

  async delete(place: FilePlace): Promise<void> {
    const answer = await this.send({ method: 'DELETE', place });
    if (answer.status !== 204 && answer.status !== 200 && answer.status !== 404) throw refused(answer);
  }

  private async send({ method, place, headers = {}, body, maxBytes }: S3Request): Promise<OutboundResponse> {
    const { url, region, accessKeyId, secretAccessKey } = this.bucket;
    const signer = new AwsV4Signer({
      ...{ method, url: `${url.replace(/\/$/, '')}/${place.workspaceId}/${place.id}` },
      headers: { 'x-amz-content-sha256': emptyHash, ...headers },
      ...{ accessKeyId, secretAccessKey: secretAccessKey.reveal(), service: 's3', region },
    });
    const signed = await signer.sign();
    try {
      return await this.client.request({
        ...{ method, url: signed.url, headers: Object.fromEntries(signed.headers) },
        ...defined({ body }),
        limits: { ...timeouts, ...defined({ maxBytes }) },
      });
    } catch (error) {
      throw storeUnavailable(error);
    }
  }
}

/** For operators' logs: the status shows what is wrong with the bucket or the key. */
function refused({ status }: OutboundResponse) {
  return storeUnavailable(new Error(`the bucket responded with status ${status}`));
}
