import { createParamDecorator, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';

import { Authenticator, type MemberPrincipal, unauthenticated } from '#auth';
import { PrincipalGuard } from '#auth/api';

import { OwnDocuments, type TokenBearer } from '../inbound/own-documents.service.js';

const bearers = new WeakMap<Request, TokenBearer>();

/** Admits only the token of a delivery. */
@Injectable()
export class PreIssuedTokenGuard extends PrincipalGuard {
  constructor(
    authenticator: Authenticator,
    reflector: Reflector,
    private readonly documents: OwnDocuments,
  ) {
    super(authenticator, reflector);
  }

  protected override async enter(request: Request): Promise<MemberPrincipal> {
    const token = /^Bearer +([\w.-]+)$/i.exec(request.headers.authorization?.trim() ?? '')?.[1];
    if (token === undefined) throw unauthenticated();
    const bearer = await this.documents.enter(token);
    bearers.set(request, bearer);
    return bearer.principal;
  }
}

/** The owner of the token. Only for routes behind `PreIssuedTokenGuard`. */
export const CurrentBearer = createParamDecorator((_: undefined, context: ExecutionContext): TokenBearer => {
  const bearer = bearers.get(context.switchToHttp().getRequest<Request>());
  if (bearer === undefined) throw new Error('CurrentBearer stands on a route without PreIssuedTokenGuard');
  return bearer;
});
