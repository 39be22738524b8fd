import type { Command } from 'commander';
import { admin, WHO } from '../admin-command.ts';
import type { CliHost } from '../host.ts';
import { print } from '../print.ts';
import { cellsIn } from '../table.ts';

/** `quittance projection ...`. */
export function addLookUps(program: Command, host: CliHost): void {
  const projection = program.command('projection').description('rebuildable look-ups');
  admin(projection, host, 'rebuild [name]', 'projection.rebuild', 'rebuild one projection, or all', [WHO]);
  admin(
    projection,
    host,
    'compare [name]',
    'projection.compare',
    'replay the event log beside the running projections and compare; exits with 1 if a row differs',
    [],
    { isFault: (answer) => cellsIn(answer).drifted !== 0 },
  );
  admin(
    projection,
    host,
    'snapshot',
    'projection.snapshot',
    "write a snapshot of this node's look-ups to LOOK_UP_SNAPSHOT_DIR, for new nodes",
  );
  projection
    .command('prepare')
    .description(
      "before an upgrade: build this version's look-ups beside running nodes and write a snapshot to LOOK_UP_SNAPSHOT_DIR",
    )
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => print(await host.prepareLookUps(), json === true));
}
