import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { getNamedType, type GraphQLResolveInfo, isListType, isNonNullType, isObjectType } from 'graphql';

import { AppError } from '#platform';
import { emptyConnection, toPayload } from '#platform/api';

import { declaredBy, refusalBy } from './declared-ability.js';
import type { GraphqlContext } from './graphql-context.js';
import type { RequiredAbility } from './require-ability.js';

/** Thrown instead of running a resolver. `result` is the result of the field; an `AppError` becomes an error of the field. */
export class RefusedField extends Error {
  constructor(readonly result: unknown) {
    super('The caller lacks the declared right');
  }
}

/**
 * Runs before every query, mutation and subscription, over HTTP and WebSocket: Nest calls it in the resolvers of the schema, which both
 * execute. Refuses callers without the right that the field declares. Not for field resolvers, whose parent is a row that was read.
 */
@Injectable()
export class ResolverGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  /** Throws `RefusedField`, and the reason why the caller enters no workspace. */
  canActivate(context: ExecutionContext): boolean {
    // Nest calls global guards for routes too; `PrincipalGuard` checks these.
    if (context.getType<string>() !== 'graphql') return true;
    const declared = declaredBy(this.reflector, context);
    if (declared === null) return true;
    const { member } = context.getArgByIndex<GraphqlContext>(2);
    const refusal = refusalBy(declared, member);
    if (refusal === null) return true;
    throw new RefusedField(resultOf(refusal, { declared, info: context.getArgByIndex<GraphQLResolveInfo>(3) }));
  }
}

/** What a refused field returns: what it returns to a caller who may read no row. */
function resultOf(
  refusal: AppError,
  { declared, info }: { readonly declared: RequiredAbility; readonly info: GraphQLResolveInfo },
): unknown {
  const { parentType, returnType, schema } = info;
  const type = getNamedType(returnType);
  const fields = isObjectType(type) ? type.getFields() : {};
  if (parentType === schema.getSubscriptionType()) return refusal;
  if (fields['userErrors'] !== undefined)
    return toPayload(() => Promise.reject(refusal)).catch((error: unknown) => error);
  if (refusal.code !== 'not_found' || declared.absent !== undefined) return refusal;
  if (!isNonNullType(returnType)) return null;
  if (declared.action !== 'read') return refusal;
  if (isListType(returnType.ofType)) return [];
  return fields['pageInfo'] === undefined ? refusal : emptyConnection();
}
