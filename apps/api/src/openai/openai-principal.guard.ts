import { Injectable } from '@nestjs/common';
import type { Request } from 'express';

import { abilityOf, type MemberPrincipal } from '#auth';
import { PrincipalGuard } from '#auth/api';
import { AppError } from '#platform';

import { OpenAiError } from '../errors/openai-error.js';

const unauthorized = (message: string) => new OpenAiError({ status: 401, message, code: 'invalid_api_key' });

/** For the routes under `/v1`: API keys only. The key alone selects the workspace and the principal. */
@Injectable()
export class OpenAiPrincipalGuard extends PrincipalGuard {
  protected override async enter(request: Request): Promise<MemberPrincipal> {
    const { authorization } = request.headers;
    if (authorization === undefined || !/^Bearer +\S+$/i.test(authorization.trim()))
      throw unauthorized('Missing or invalid Authorization header');
    const principal = await this.authenticated(authorization);
    if (principal.kind !== 'key') throw invalidKey();
    // Every `/v1` response contains job data, so the key needs `read`.
    if (!abilityOf(principal).can('read', 'Job')) throw scopeMissing();
    return principal;
  }

  private async authenticated(authorization: string): Promise<MemberPrincipal> {
    try {
      return await this.authenticator.authenticate({ authorization });
    } catch (error) {
      // A user's token is not accepted here, even a valid one.
      const codes = ['unauthenticated', 'not_found', 'bad_request'];
      throw error instanceof AppError && codes.includes(error.code) ? invalidKey() : error;
    }
  }
}

function scopeMissing(): AppError {
  return new AppError({ code: 'forbidden', message: 'This API key needs the scope "read" to get responses' });
}

/** Unknown, revoked and expired keys look the same. */
export function invalidKey(): OpenAiError {
  return unauthorized('Invalid API key');
}
