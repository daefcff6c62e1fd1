import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';

import { AppError } from '#platform';
import { readBody } from '#platform/api';

import { forbidden } from '../auth.errors.js';
import { Authenticator } from '../authentication/authenticator.service.js';
import type { MemberPrincipal } from '../principal.js';
import { credentialsOf } from './credentials-of.js';
import { rememberPrincipal } from './current-principal.js';
import { declaredBy, refusalBy } from './declared-ability.js';
import { ownBodyKey } from './require-ability.js';

/** A call that the declaration of its route refuses. */
export interface RefusedCall {
  readonly request: Request;
  readonly principal: MemberPrincipal;
  readonly refusal: AppError;
}

/** Rejects a request without a valid credential, or without the right that its route declares. Reads the body last. */
@Injectable()
export class PrincipalGuard implements CanActivate {
  constructor(
    protected readonly authenticator: Authenticator,
    private readonly reflector: Reflector,
  ) {}

  /** Throws `unauthenticated`, `not_found` (the workspace, or a row), `bad_request` (the token must name a workspace), `forbidden`, `rate_limited`. */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const declared = declaredBy(this.reflector, context);
    const request = context.switchToHttp().getRequest<Request>();
    const principal = await this.authenticate(request, declared?.unauthenticatedText);
    const refusal = refusalBy(declared, principal);
    // A row that does not exist yet has no reader, who would get more details.
    if (refusal !== null && declared?.action === 'create') throw forbidden();
    if (refusal !== null) await this.refuse({ request, principal, refusal });
    rememberPrincipal(request, principal);
    if (!this.reflector.get<boolean | undefined>(ownBodyKey, context.getHandler()))
      await readBody(request, principal.userId);
    return true;
  }

  /** Authenticates the caller in the workspace that the request names, or in the only one. */
  protected enter(request: Request): Promise<MemberPrincipal> {
    return this.authenticator.authenticate(credentialsOf(request.headers));
  }

  /** Throws the refusal of a caller without the declared right. */
  protected refuse({ refusal }: RefusedCall): Promise<void> {
    return Promise.reject(refusal);
  }

  private async authenticate(request: Request, unauthenticatedText: string | undefined): Promise<MemberPrincipal> {
    try {
      return await this.enter(request);
    } catch (error) {
      const isUnauthenticated = error instanceof AppError && error.code === 'unauthenticated';
      if (!isUnauthenticated || unauthenticatedText === undefined) throw error;
      throw new AppError({ code: 'unauthenticated', message: unauthenticatedText });
    }
  }
}
