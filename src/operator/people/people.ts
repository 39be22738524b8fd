import {
  accepted,
  type AdminArguments,
  type AdminCommands,
  json,
  optionalText,
  refused,
  requiredText,
} from '../server/commands.ts';
import { isDay } from '../../domain/values/calendar.ts';
import { PERSON_ROLES, type Grant, type PersonRole } from '../../domain/events/person-events.ts';
import { parseMerchantId, type MerchantId } from '../../domain/values/ids.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import type { PersonEntry } from '../../features/people/directory.ts';
import { personIdOf, type NewLink, type People } from '../../features/people/people.ts';
import type { PersonContext } from '../../../state-machines/person/person.state.ts';
import { must } from '../../domain/values/must.ts';
import { limitOf } from '../server/whole-number.ts';

const HOST = 'command line';
const DAY_SEC = 86_400;

interface PeopleParts {
  readonly people: People;
  /** The URL of the console; null where there is none. */
  readonly consoleUrl: () => string | null;
  readonly isMerchant: (id: MerchantId) => boolean;
}

/**
 * `quittance people ...`: who may use the console. Whoever can run this controls the service, so nobody else has to
 * agree.
 */
export function peopleCommands(parts: PeopleParts): AdminCommands {
  const { people } = parts;
  const wanted = (args: AdminArguments) => ({
    by: HOST,
    reason: optionalText(args, 'reason') ?? 'at the command line',
  });
  const known = (args: AdminArguments): string => {
    const personId = personIdOf(requiredText(args, 'name'));
    return people.directory.find(personId) ? personId : refused('name is not an invited person');
  };
  const linkOf = ({ token, expiresAtSec }: NewLink): JsonValue => {
    const url = parts.consoleUrl();
    return { link: url === null ? `/join/${token}` : `${url}/join/${token}`, expires_at: expiresAtSec };
  };
  return {
    'people.invite': async (args) => {
      const grants = grantsOf(requiredText(args, 'roles'), parts.isMerchant);
      return linkOf(accepted(await people.invite(requiredText(args, 'name'), grants, wanted(args))));
    },
    'people.link': async (args) => linkOf(accepted(await people.issueLink(known(args), wanted(args), true))),
    'people.roles': async (args) => {
      const grants = grantsOf(requiredText(args, 'roles'), parts.isMerchant);
      return presentPerson(people, accepted(await people.changeRoles(known(args), grants, wanted(args))));
    },
    'people.suspend': async (args) => presentPerson(people, accepted(await people.suspend(known(args), wanted(args)))),
    'people.reinstate': async (args) =>
      presentPerson(people, accepted(await people.reinstate(known(args), wanted(args)))),
    'people.list': async () => people.directory.all().map((person) => presentPerson(people, person)),
    'people.actions': async (args) => {
      const text = optionalText(args, 'search')?.toLowerCase() ?? '';
      const found = people.directory.entries().filter((entry) => text === '' || searched(entry).includes(text));
      return found.slice(0, limitOf(args)).map(presentEntry);
    },
  };
}

const searched = (entry: PersonEntry): string => JSON.stringify(presentEntry(entry)).toLowerCase();

const SIGNS_IN: ReadonlySet<string> = new Set(['tokenHash', 'linkHash', 'publicKey']);

/** One line of the record of actions, without anything that could be used to sign in. */
export function presentEntry({ atMs, correlationId, event }: PersonEntry): { readonly [key: string]: JsonValue } {
  const data = Object.entries(event.data).filter(([name]) => !SIGNS_IN.has(name));
  return {
    at: Math.floor(atMs / 1000),
    type: event.type,
    request: correlationId,
    ...Object.fromEntries(data.map(([name, value]) => [name, json(value)])),
  };
}

function presentPerson(
  people: People,
  { invited, identity, grants, suspended, passkeys, signIns }: PersonContext,
): JsonValue {
  return {
    id: must(invited).personId,
    name: must(invited).name,
    single_sign_on: identity && { issuer: identity.issuer, subject: identity.subject },
    suspended,
    roles: grants.map(grantText),
    passkeys: Object.values(passkeys).map(({ added }) => ({
      id: added.credentialId,
      label: added.label,
      added: added.addedAtSec,
    })),
    sign_ins: Object.values(signIns)
      .filter((signIn) => people.isOpen(signIn))
      .map(({ signInId, signedInAtSec, browser }) => ({ id: signInId, signed_in: signedInAtSec, browser })),
  };
}

/** In the form that `grantsOf` reads. */
export function grantText({ role, merchantId, untilSec }: Grant): string {
  const until = untilSec === null ? '' : `@${new Date((untilSec - 1) * 1000).toISOString().slice(0, 10)}`;
  return `${role}${merchantId === null ? '' : `:${merchantId}`}${until}`;
}

/** `role`, `role:merchant`, `role@last-day`, separated by commas. Throws `CommandRefused`. */
export function grantsOf(text: string, isMerchant: (id: MerchantId) => boolean): Grant[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const [, name = '', merchant = null, day = null] =
        /^([a-z_]+)(?::([\w]+))?(?:@([\d-]+))?$/.exec(part) ??
        refused(`roles: ${part} is not role, role:merchant or role@day`);
      const role: PersonRole =
        PERSON_ROLES.find((one) => one === name) ?? refused(`roles: ${name} is not one of ${PERSON_ROLES.join(', ')}`);
      const merchantId = merchant === null ? null : parseMerchantId(merchant);
      if (merchant !== null && (merchantId === null || !isMerchant(merchantId)))
        return refused(`roles: there is no merchant ${merchant}`);
      if (day !== null && !isDay(day)) return refused(`roles: ${day} is not a day such as 2026-10-31`);
      const untilSec = day === null ? null : Date.parse(`${day}T00:00:00Z`) / 1000 + DAY_SEC;
      return { role, merchantId, untilSec };
    });
}
