import type { Command } from 'commander';
import { admin } from '../admin-command.ts';
import type { CliHost } from '../host.ts';

const ROLES = ['--roles <list>', 'such as operator,finance or support:mer_... or auditor@2027-03-31', true] as const;
const REASON = ['--reason <text>', 'why, for the record'] as const;

/** `quittance people ...`: who may use the console. */
export function addPeople(program: Command, host: CliHost): void {
  const people = program.command('people').description('console users and their actions');
  admin(
    people,
    host,
    'invite <name>',
    'people.invite',
    'invite a person; prints a link that lets them register one passkey',
    [ROLES, REASON],
  );
  admin(people, host, 'link <name>', 'people.link', 'another link, for instance after the only passkey was lost', [
    REASON,
  ]);
  admin(people, host, 'roles <name>', 'people.roles', 'replace the roles of a person', [ROLES, REASON]);
  admin(people, host, 'suspend <name>', 'people.suspend', 'sign a person out everywhere and block them', [REASON]);
  admin(people, host, 'reinstate <name>', 'people.reinstate', 'let a suspended person in again', [REASON]);
  admin(people, host, 'list', 'people.list', 'everyone, with roles, passkeys and open sign-ins');
  admin(people, host, 'actions', 'people.actions', 'what people did in the console, newest first', [
    ['--search <text>', 'only entries that contain this text'],
    ['--limit <n>', 'at most this many (default 50)'],
  ]);
}
