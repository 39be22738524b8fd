import { writeFileSync } from 'node:fs';
import { OPERATOR_ROLES, type Operators } from '../../ports/people/operators.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { CommandRefused, optionalText, requiredText, type AdminArguments } from '../server/commands.ts';
import { sameName } from '../../domain/values/names.ts';
import { oneOf } from '../../domain/values/one-of.ts';
import { codeOf } from '../../runtime/util/code-of.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}$/;

/** `quittance operator ...`: who may use the operator's HTTP API. */
export function runOperatorCommand(
  operators: Operators,
  command: string,
  args: AdminArguments,
  nowSec: number,
): JsonValue {
  switch (command) {
    case 'operator.create':
      return create(operators, args, nowSec);
    case 'operator.list':
      return operators.list().map(({ id, name, role, createdAtSec }) => ({ id, name, role, created_at: createdAtSec }));
    case 'operator.revoke': {
      const id = requiredText(args, 'operator_id');
      if (!operators.revoke(id)) throw new CommandRefused(`operator_id: there is no operator ${id}`);
      return { id, revoked: true };
    }
    default:
      throw new CommandRefused(`there is no command ${command}`);
  }
}

function create(operators: Operators, args: AdminArguments, nowSec: number): JsonValue {
  const name = requiredText(args, 'name');
  const role = requiredText(args, 'role');
  const file = optionalText(args, 'tokenFile');
  if (!NAME.test(name)) throw new CommandRefused('name must be 1 to 64 letters, digits, spaces or ._@-');
  if (!isRole(role)) throw new CommandRefused(`role must be ${OPERATOR_ROLES.join(' or ')}`);
  if (operators.list().some((known) => sameName(known.name, name)))
    throw new CommandRefused(`name: ${name} already has a token; revoke it first`);
  if (file !== undefined) claim(file);
  const { operator, token } = operators.create(name, role, nowSec);
  if (file !== undefined) writeFileSync(file, `${token}\n`);
  return { id: operator.id, name, role, ...(file === undefined ? { token } : { token_file: file }) };
}

const isRole = oneOf(OPERATOR_ROLES);

/** The file is created before the token: a token that could not be written would be lost. Never replaces a file. */
function claim(file: string): void {
  try {
    writeFileSync(file, '', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw new CommandRefused(`token-file: ${file} cannot be made (${codeOf(error) ?? 'unknown'})`);
  }
}
