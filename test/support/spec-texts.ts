/** Of the documented example: four tasks, each after the one before it, and a fifth beside the fourth. */
export const tasksYaml = `# The tasks of the authentication system
spec: auth-system
tasks:
  - id: T001
    content: "Add user model"
    status: pending # soon
    evidence:
      commits: []
      files: []
  - id: T002
    content: "Add authentication endpoint"
    status: pending
  - id: T003
    content: "Add session management"
    status: pending
  - id: T004
    content: "Add logout endpoint"
    status: pending
    depends_on: [T003]
  - id: T005
    content: "Write it down"
    status: pending
    depends_on: [T003]
`;

export const dependenciesYaml = `phases:
  - id: core
    name: Core
    tasks:
      - {id: T001, file: src/auth/user.py}
      - {id: T002, file: src/auth/auth.py, depends_on: [T001]}
      - {id: T003, file: src/auth/session.py, depends_on: [T002]}
  - id: rest
    name: The rest
    tasks:
      - {id: T004, file: src/auth/logout.py}
      - {id: T005, file: docs/auth.md}
`;
