from cutline.cli.main import main

main()
