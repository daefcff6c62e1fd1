import { Field, InputType, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, payloadOf } from '#platform/api';

@ObjectType('File', {
  description:
    'A file of the workspace. `GET /api/files/{hash}` returns its content; `POST /api/files` uploads a file.',
})
export class FileModel {
  @Field(() => String, { description: 'SHA-256 of its content, in hex. Attachments refer to the file by this hash.' })
  hash!: string;

  @Field(() => String, { description: 'Its media type.' })
  mime!: string;

  @Field(() => Int, { description: 'Size of its content in bytes.' })
  bytes!: number;

  @Field(() => String, { nullable: true, description: 'The name from its first upload. Null: the upload had none.' })
  name?: string | null;

  @Field(() => DateTime, { description: 'When it was first uploaded.' })
  createdAt!: number;
}

export const FileConnection = connectionOf(FileModel, 'File');

@InputType({ description: 'The file to delete.' })
export class DeleteFileInput {
  @Field(() => String, { description: 'Its hash.' })
  hash!: string;
}

export const FilePayload = payloadOf({
  name: 'FilePayload',
  description: 'The file before it was deleted, or the reasons why it was not deleted.',
  fields: { file: [FileModel, 'The file.'] },
});
