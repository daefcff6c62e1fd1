import { Args, Context, Mutation, Query, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import {
  type ConnectionOf,
  ForwardPageArgs,
  orNull,
  pageCost,
  toForwardConnection,
  toForwardPage,
  toPayload,
} from '#platform/api';

import { Files } from '../files.service.js';
import { fileNotFound } from '../store/file-store.errors.js';
import type { StoredFile } from '../stored-file.js';
import { DeleteFileInput, FileConnection, FileModel, FilePayload } from './file.model.js';

/** Shows and deletes the files of a workspace. */
@Resolver(() => FileModel)
export class FilesResolver {
  constructor(private readonly stored: Files) {}

  @RequireAbility('read', 'StoredFile')
  @Query(() => FileConnection, { description: 'The files of the workspace, newest first.', complexity: pageCost })
  async files(@Args() args: ForwardPageArgs, @Context() { member }: GraphqlContext): Promise<ConnectionOf<StoredFile>> {
    const page = await this.stored.list(member, toForwardPage(args, 'files'));
    return toForwardConnection(page, args, { kind: 'files', idOf: ({ id }) => id });
  }

  @RequireAbility('read', 'StoredFile')
  @Query(() => FileModel, {
    nullable: true,
    description: 'The file whose content has this hash. Null: not found in this workspace.',
  })
  file(
    @Args('hash', { type: () => String, description: 'SHA-256 of its content, in hex.' }) hash: string,
    @Context() { member }: GraphqlContext,
  ): Promise<StoredFile | null> {
    return orNull(this.stored.get(member, hash));
  }

  @RequireAbility('delete', 'StoredFile', { absent: fileNotFound })
  @Mutation(() => FilePayload, {
    description:
      'Deletes a file. Members can delete their own files, owners and admins all. Messages keep their reference, and models read a note instead of the file.',
  })
  deleteFile(
    @Args('input', { type: () => DeleteFileInput, description: 'The file.' }) { hash }: DeleteFileInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ file: await this.stored.remove(member, hash) }));
  }
}
