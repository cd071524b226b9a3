import { join } from 'node:path';
import { makeFolder, removeIfThere, statIfThere, type WritePorts, writeAtomically } from '../system/disk.ts';

/** A file here has the witness of this clone only watch, also where it watches already. */
const switchPath = (home: string) => join(home, 'witness', 'off');

export function isWitnessOn(home: string): boolean {
  return statIfThere(switchPath(home)) === null;
}

export async function turnWitness(
  ports: WritePorts & { readonly home: string },
  isOn: boolean,
): Promise<void> {
  const path = switchPath(ports.home);
  if (isOn) {
    removeIfThere(ports.disk, path);
    return;
  }
  await makeFolder(ports.disk, join(ports.home, 'witness'));
  await writeAtomically(ports, path, '');
}
