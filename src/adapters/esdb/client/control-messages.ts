import type { Endpoint } from './settings.ts';
import { decode, encoded, inner, message, type Reader, text } from './fields.ts';

/* The messages of the services for users and for what the nodes know of each other (users.proto, gossip.proto). */

export interface Member {
  readonly state: number;
  readonly isAlive: boolean;
  readonly endpoint: Endpoint;
}

export function decodeMembers(answer: Uint8Array): Member[] {
  const members: Member[] = [];
  decode(answer, (field, reader) => {
    if (field === 1) members.push(readMember(reader));
    return field === 1;
  });
  return members;
}

function readMember(reader: Reader): Member {
  const member = { state: 0, isAlive: false, endpoint: { host: '', port: 0 } };
  inner(reader, (field, of) => {
    if (field === 3) member.state = of.int32();
    else if (field === 4) member.isAlive = of.bool();
    else if (field === 5)
      inner(of, (part, endpoint) => {
        if (part === 1) member.endpoint.host = endpoint.string();
        else if (part === 2) member.endpoint.port = endpoint.uint32();
        else return false;
        return true;
      });
    else return false;
    return true;
  });
  return member;
}

export type UserCall =
  /** Update sets the groups: none. */
  | { readonly method: 'Create' | 'ResetPassword'; readonly name: string; readonly password: string }
  | { readonly method: 'Update' | 'Enable'; readonly name: string };

/** Users have their own name for a full name, too, and no groups. */
export const encodeUserCall = (call: UserCall): Buffer =>
  encoded((writer) =>
    message(writer, 1, (options) => {
      text(options, 1, call.name);
      if ('password' in call) text(options, 2, call.password);
      if (call.method === 'Create' || call.method === 'Update') text(options, 3, call.name);
    }),
  );
