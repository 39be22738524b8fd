import type {
  Grant,
  JoinLink,
  PasskeyAdded,
  PersonEvent,
  SignedIn,
  SignedInBySso,
  ActionTaken,
} from '../../src/domain/events/person-events.ts';
import { accept, refuse, type Decision, type Refusal } from '../../src/domain/values/result.ts';
import { sameName } from '../../src/domain/values/names.ts';
import type { PersonValue } from './person.machine.ts';
import type { PersonContext } from './person.state.ts';
import { must } from '../../src/domain/values/must.ts';

export interface PersonState {
  readonly value: PersonValue;
  readonly context: PersonContext;
}

/** Who requests it, by name, and why. */
export interface Wanted {
  readonly by: string;
  readonly reason: string;
}

/** Ids of whoever requests it and of everybody who let them in, directly or through others. */
interface LetIn {
  readonly letInBy: readonly string[];
}

export type PersonCommand =
  | (Wanted &
      JoinLink & {
        readonly type: 'Invite';
        readonly personId: string;
        readonly name: string;
        readonly grants: readonly Grant[];
        readonly nowSec: number;
      })
  /** `byHost`: whoever may run commands on the machine controls the service anyway. */
  | (Wanted & JoinLink & LetIn & { readonly type: 'IssueLink'; readonly byHost: boolean; readonly nowSec: number })
  | (Wanted & LetIn & { readonly type: 'RequestRecovery'; readonly delaySec: number; readonly nowSec: number })
  | (Wanted & { readonly type: 'RefuseRecovery' })
  | { readonly type: 'AddPasskey'; readonly passkey: Omit<PasskeyAdded['data'], 'personId'> }
  | (Wanted & { readonly type: 'RemovePasskey'; readonly credentialId: string })
  | (Wanted & { readonly type: 'ChangeRoles'; readonly grants: readonly Grant[]; readonly nowSec: number })
  | (Wanted & { readonly type: 'Suspend' })
  | (Wanted & { readonly type: 'Reinstate' })
  | { readonly type: 'SignIn'; readonly signIn: Omit<SignedIn['data'], 'personId'> }
  /** Vouched for by the identity provider, which also introduces new people. */
  | {
      readonly type: 'SignInBySso';
      readonly personId: string;
      readonly name: string;
      readonly signIn: Omit<SignedInBySso['data'], 'personId'>;
    }
  | (Wanted & { readonly type: 'SignOut'; readonly signInId: string })
  | { readonly type: 'RecordAction'; readonly taken: Omit<ActionTaken['data'], 'personId'> };

const MAX_GRANTS = 20;
const MAX_PASSKEYS = 10;
const MAX_SIGN_INS = 20;
const MAX_REASON = 500;
const MAX_AUDIT_SEC = 366 * 86_400;
/** How long a second operator can make the link once the wait is over. */
const RECOVERY_SEC = 7 * 86_400;
/** An approver's name at the signer. Pages show several blanks as one, so that two people would look the same. */
const NAME = /^(?=.{1,64}$)[A-Za-z0-9](?: ?[A-Za-z0-9._-])*$/;
/** Names that records use for actors other than people; a person with such a name could pass for them. */
const RESERVED = [
  'command line',
  'merchant',
  'operator',
  'clock',
  'console',
  'system',
  'sandbox',
  'the sandbox',
  'canary',
  'payer',
  'threshold',
  'nonce-accounts',
];

/** Decides the commands of a person of the console. */
export function decidePerson(command: PersonCommand, { context }: PersonState): Decision<PersonEvent> {
  const { invited } = context;
  if ('reason' in command && (command.reason.trim() === '' || command.reason.length > MAX_REASON))
    return refuse('invalid_request', `reason must be 1 to ${MAX_REASON} characters`, 'reason');
  if (command.type === 'Invite') return invite(command, context);
  if (command.type === 'SignInBySso') return signInBySso(command, context);
  if (invited === null) return refuse('not_found', 'no such person');
  const { personId, name } = invited;
  switch (command.type) {
    case 'IssueLink':
      return issueLink(command, context, personId, name);
    case 'RequestRecovery':
      return requestRecovery(command, context, personId, name);
    case 'RefuseRecovery':
      if (!sameName(command.by, name)) return refuse('invalid_request', 'only the person can refuse it', 'person');
      return context.recovery === null
        ? refuse('invalid_request', 'no recovery was requested', 'person')
        : accept({ type: 'RecoveryRefused', data: { personId, ...wantedOf(command) } });
    case 'AddPasskey':
      return addPasskey(command.passkey, context, personId);
    case 'RemovePasskey':
      return removePasskey(command, context, personId);
    case 'ChangeRoles': {
      if (sameName(command.by, name)) return refuse('invalid_request', 'nobody can change their own roles', 'roles');
      if (context.identity !== null)
        return refuse('invalid_request', 'their roles come from single sign-on: change them there', 'roles');
      const fault = grantsFault(command.grants, command.nowSec);
      return fault
        ? { ok: false, refusal: fault }
        : accept({ type: 'RolesChanged', data: { personId, ...wantedOf(command), grants: command.grants } });
    }
    case 'Suspend':
      if (sameName(command.by, name)) return refuse('invalid_request', 'nobody can suspend themselves', 'person');
      return context.suspended
        ? accept()
        : accept({ type: 'PersonSuspended', data: { personId, ...wantedOf(command) } });
    case 'Reinstate':
      if (sameName(command.by, name)) return refuse('invalid_request', 'nobody can reinstate themselves', 'person');
      return context.suspended
        ? accept({ type: 'PersonReinstated', data: { personId, ...wantedOf(command) } })
        : accept();
    case 'SignIn':
      return signIn(command.signIn, context, personId);
    case 'SignOut':
      if (!Object.hasOwn(context.signIns, command.signInId)) return accept();
      return accept({ type: 'SignedOut', data: { personId, ...wantedOf(command), signInId: command.signInId } });
    case 'RecordAction':
      return accept({ type: 'ActionTaken', data: { personId, ...command.taken } });
  }
}

const wantedOf = ({ by, reason }: Wanted): Wanted => ({ by, reason: reason.trim() });

function invite(
  command: Extract<PersonCommand, { type: 'Invite' }>,
  { invited }: PersonContext,
): Decision<PersonEvent> {
  const { personId, name, grants, linkHash, expiresAtSec, nowSec } = command;
  if (invited !== null)
    return refuse('conflict', `${invited.name} already exists: no two names may look alike`, 'name');
  const fault = nameFault(name) ?? grantsFault(grants, nowSec);
  if (fault) return { ok: false, refusal: fault };
  return accept({
    type: 'PersonInvited',
    data: { personId, ...wantedOf(command), name, grants, linkHash, expiresAtSec },
  });
}

/** One operator alone cannot gain access as somebody else: the person requests the link, or two operators agree. */
function issueLink(
  command: Extract<PersonCommand, { type: 'IssueLink' }>,
  context: PersonContext,
  personId: string,
  name: string,
): Decision<PersonEvent> {
  const { by, byHost, linkHash, expiresAtSec } = command;
  if (context.suspended) return refuse('invalid_request', 'the person is suspended', 'person');
  if (Object.keys(context.passkeys).length >= MAX_PASSKEYS)
    return refuse('invalid_request', `a person has at most ${MAX_PASSKEYS} passkeys: remove one first`, 'person');
  const isFirst =
    Object.keys(context.passkeys).length === 0 && (context.identity !== null || sameName(by, must(context.invited).by));
  if (!byHost && Object.keys(context.passkeys).length === 0 && sameName(by, name))
    return refuse('invalid_request', 'the first passkey needs a link from somebody else', 'person');
  const recovers = !byHost && !isFirst && !sameName(by, name);
  const fault = recovers ? recoveryFault(command, context) : null;
  return fault
    ? refuse('invalid_request', fault, 'person')
    : accept({ type: 'JoinLinkIssued', data: { personId, ...wantedOf(command), linkHash, expiresAtSec, recovers } });
}

/**
 * One person must not hold both names of the two operators: whoever invites somebody sees the link, and could use it
 * themselves.
 */
function recoveryFault(
  { by, letInBy, nowSec }: Extract<PersonCommand, { type: 'IssueLink' }>,
  { recovery }: PersonContext,
): string | null {
  if (recovery === null || recovery.linkBy !== null || recovery.endsAtSec <= nowSec)
    return 'a person with passkeys gets a link for another one only if two operators agree: request recovery first';
  if (sameName(recovery.by, by)) return 'recovery takes two people: the second must be another operator';
  if (recovery.letInBy.some((personId) => letInBy.includes(personId)))
    return `recovery takes two operators of whom neither let the other in, and whom nobody else of the console let in both, directly or through others: ${recovery.by} requested it. Another operator, or the command line of the machine, can make the link`;
  return recovery.opensAtSec > nowSec
    ? `the person can refuse until ${new Date(recovery.opensAtSec * 1000).toISOString()}: make the link then`
    : null;
}

function requestRecovery(
  command: Extract<PersonCommand, { type: 'RequestRecovery' }>,
  { suspended, recovery }: PersonContext,
  personId: string,
  name: string,
): Decision<PersonEvent> {
  const { nowSec, delaySec, letInBy } = command;
  if (suspended) return refuse('invalid_request', 'the person is suspended', 'person');
  if (recovery !== null && recovery.endsAtSec > nowSec)
    return refuse('conflict', `${recovery.by} already requested recovery`, 'person');
  if (sameName(command.by, name)) return refuse('invalid_request', 'nobody can recover their own access', 'person');
  return accept({
    type: 'RecoveryRequested',
    data: {
      ...{ personId, ...wantedOf(command), letInBy, requestedAtSec: nowSec },
      ...{ opensAtSec: nowSec + delaySec, endsAtSec: nowSec + delaySec + RECOVERY_SEC },
    },
  });
}

function addPasskey(
  passkey: Omit<PasskeyAdded['data'], 'personId'>,
  { link, suspended }: PersonContext,
  personId: string,
): Decision<PersonEvent> {
  const isOpen = link !== null && link.linkHash === passkey.linkHash && link.expiresAtSec > passkey.addedAtSec;
  if (!isOpen || suspended) return refuse('not_found', 'the link was used, replaced or has expired');
  return accept({ type: 'PasskeyAdded', data: { personId, ...passkey } });
}

function removePasskey(
  command: Extract<PersonCommand, { type: 'RemovePasskey' }>,
  { passkeys }: PersonContext,
  personId: string,
): Decision<PersonEvent> {
  const { credentialId } = command;
  if (!Object.hasOwn(passkeys, credentialId)) return refuse('not_found', 'no such passkey');
  if (Object.keys(passkeys).length === 1)
    return refuse('invalid_request', 'the last passkey cannot be removed: suspend the person instead', 'passkey');
  return accept({ type: 'PasskeyRemoved', data: { personId, ...wantedOf(command), credentialId } });
}

/** Beyond the limit the oldest sign-in ends, so that forgotten browsers lock nobody out. */
function signIn(
  wanted: Omit<SignedIn['data'], 'personId'>,
  context: PersonContext,
  personId: string,
): Decision<PersonEvent> {
  const { passkeys, signIns, suspended, invited, identity } = context;
  const passkey = passkeys[wanted.credentialId];
  // People who leave the organisation are locked out at the identity provider.
  if (identity !== null)
    return refuse(
      'authentication_failed',
      'the person signs in with single sign-on; the passkey only signs their actions',
    );
  if (suspended || !passkey)
    return refuse('authentication_failed', 'the passkey is unknown, or its owner is suspended');
  return accept<PersonEvent>(...endedFor(signIns, personId, must(invited).name), {
    type: 'SignedIn',
    data: { personId, ...wanted },
  });
}

function endedFor(signIns: PersonContext['signIns'], personId: string, by: string): PersonEvent[] {
  const over = Object.values(signIns)
    .sort((one, other) => one.signedInAtSec - other.signedInAtSec)
    .slice(0, Math.max(0, Object.keys(signIns).length - MAX_SIGN_INS + 1));
  return over.map(({ signInId }) => ({
    type: 'SignedOut',
    data: { personId, by, reason: `more than ${MAX_SIGN_INS} sign-ins`, signInId },
  }));
}

/**
 * A name belongs to its first holder: single sign-on can neither take over an invited person nor rename one that it
 * introduced.
 */
function signInBySso(
  command: Extract<PersonCommand, { type: 'SignInBySso' }>,
  context: PersonContext,
): Decision<PersonEvent> {
  const { personId, name, signIn } = command;
  const { issuer, subject } = signIn;
  const fault = grantsFault(signIn.grants, signIn.signedInAtSec);
  if (fault) return { ok: false, refusal: fault };
  const signedIn = { type: 'SignedInBySso', data: { personId, ...signIn } } as const;
  if (context.invited === null) {
    const ofName = nameFault(name);
    if (ofName) return { ok: false, refusal: ofName };
    return accept<PersonEvent>({ type: 'PersonProvisioned', data: { personId, name, issuer, subject } }, signedIn);
  }
  const { identity, suspended, signIns, invited } = context;
  if (identity?.issuer !== issuer || identity.subject !== subject)
    return refuse('conflict', `${invited.name} is another person here, who signs in differently`, 'name');
  if (suspended) return refuse('authentication_failed', 'the person is suspended');
  return accept<PersonEvent>(...endedFor(signIns, personId, invited.name), signedIn);
}

function nameFault(name: string): Refusal | null {
  const fault = (message: string): Refusal => ({ code: 'invalid_request', message, param: 'name' });
  const shown = name.trim().replaceAll(/ +/g, ' ');
  if (RESERVED.some((reserved) => sameName(reserved, shown)))
    return fault(`name must not be ${shown}, which is reserved in records`);
  return NAME.test(name)
    ? null
    : fault('name must be 1 to 64 letters, digits, single blanks, dots, hyphens or underscores');
}

/** What is wrong with a grant at any time; null if nothing. */
export function grantFault({ role, merchantId, untilSec }: Grant): string | null {
  if (role === 'merchant_admin' && merchantId === null) return 'merchant_admin needs a merchant';
  if (!OF_MERCHANTS.has(role) && merchantId !== null) return `${role} is for the whole service, not for one merchant`;
  return role === 'auditor' && untilSec === null ? 'auditor needs an end date, such as auditor@2027-03-31' : null;
}

function grantsFault(grants: readonly Grant[], nowSec: number): Refusal | null {
  const fault = (message: string): Refusal => ({ code: 'invalid_request', message, param: 'roles' });
  if (grants.length === 0 || grants.length > MAX_GRANTS) return fault(`roles must be 1 to ${MAX_GRANTS}`);
  for (const grant of grants) {
    const { role, untilSec } = grant;
    const malformed = grantFault(grant);
    if (malformed !== null) return fault(malformed);
    if (untilSec !== null && untilSec <= nowSec) return fault(`${role} would already have ended`);
    if (role === 'auditor' && must(untilSec) > nowSec + MAX_AUDIT_SEC) return fault('auditor must end within a year');
  }
  return null;
}

const OF_MERCHANTS: ReadonlySet<string> = new Set(['viewer', 'support', 'merchant_admin']);
